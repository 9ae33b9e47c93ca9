package ops

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// bodyTimeout is how long it may take to come.
const bodyTimeout = 5 * time.Second

// JSON serves what read returns.
func JSON(read func(*http.Request) any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, read(r)) })
}

// Command serves a request that changes something: its body, if there is one, is a T in JSON, and do returns what to answer.
// An error of do is a bad request.
func Command[T any](do func(T) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		var in T
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			writeJSON(w, http.StatusBadRequest, apiError{err.Error()})
			return
		}
		out, err := do(in)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, apiError{err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, out)
	})
}

type apiError struct {
	Error string `json:"error"`
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.Encode(v)
}
