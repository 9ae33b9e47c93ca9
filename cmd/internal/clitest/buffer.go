package clitest

import (
	"bytes"
	"sync"
)

// Buffer is what a command writes to while a test reads. The zero value is ready.
type Buffer struct {
	mu sync.Mutex // guards what follows
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written so far.
func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
