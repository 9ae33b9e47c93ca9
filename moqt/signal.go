package moqt

// signal wakes everyone who waits for a change. It is guarded by the lock of what
// changes: wait and fire are called with it held, the channel is waited on without.
type signal struct{ ch chan struct{} }

func (s *signal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
