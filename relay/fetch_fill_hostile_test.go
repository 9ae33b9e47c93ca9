package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A publisher that says in descending order what became of group 0 has said all: no group comes after it, nothing is asked
// elsewhere and nothing is told twice.
func TestFillDownToGroup0(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(*moqt.FetchWriter)
		want   string
	}{
		{"whole", func(w *moqt.FetchWriter) {
			w.WriteObject(moqt.FetchObject{Object: lastObject, Gap: moqt.GapUnknown}, nil)
			w.Close()
		}, "?0.max"},
		{"broken off", func(w *moqt.FetchWriter) {
			w.WriteObject(moqt.FetchObject{Object: lastObject, Gap: moqt.GapUnknown}, nil)
			synctest.Wait()
			w.Reset(wire.StreamInternalError)
		}, "?0.max"},
		{"after objects", func(w *moqt.FetchWriter) {
			w.WriteObject(moqt.FetchObject{Group: 2}, []byte("2.0"))
			w.WriteObject(moqt.FetchObject{Object: lastObject, Gap: moqt.GapUnknown}, nil)
			synctest.Wait()
			w.Reset(wire.StreamInternalError)
		}, "2.0 ?0.max"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				bad := rt.archive(wire.Location{Group: 2, Object: 3})
				bad.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
					if w, err := req.Accept(moqt.FetchOK{End: req.End}); err == nil {
						tt.answer(w)
					}
					return nil
				}
				other := rt.archive(wire.Location{Group: 2, Object: 3})
				got, err := rt.dial(moqt.PipeConfig{}).fetchAll(fetchOf(wire.Location{}, wire.Location{Group: 2}, wire.GroupOrderDescending))
				if got != tt.want || err != nil {
					t.Errorf("fetched %s, %v; want %s", got, err, tt.want)
				}
				if len(other.asked) > 0 {
					t.Errorf("asked for more: %v", other.asked)
				}
			})
		})
	}
}

// Ranges without objects go out under a deadline of their own: neither that of the object before, nor none.
func TestFillGapsLongAfterAnObject(t *testing.T) {
	runRelay(t, Config{FillTimeout: time.Minute}, func(rt *relayTest) {
		a := rt.archive(wire.Location{Group: 4, Object: 3})
		a.answer = func(req *moqt.IncomingFetch) *moqt.RequestError {
			if w, err := req.Accept(moqt.FetchOK{End: req.End}); err == nil {
				w.WriteObject(moqt.FetchObject{Group: 3}, []byte("3.0"))
				time.Sleep(fillWriteTimeout + time.Second)
				w.WriteObject(moqt.FetchObject{Group: 3, Object: 1, Gap: moqt.GapUnknown}, nil)
				w.WriteObject(moqt.FetchObject{Group: 3, Object: 5, Gap: moqt.GapNonExistent}, nil)
				w.WriteObject(moqt.FetchObject{Group: 4}, []byte("4.0"))
				w.Close()
			}
			return nil
		}
		got, err := rt.dial(moqt.PipeConfig{}).fetchAll(fetchOf(wire.Location{Group: 3}, wire.Location{Group: 4}, wire.GroupOrderAscending))
		if want := "3.0 ?3.1 4.0"; got != want || err != nil {
			t.Errorf("fetched %s, %v; want %s", got, err, want)
		}
	})
}
