package relay

// signal wakes everyone who waits for a change. The lock of what changes guards it.
type signal struct {
	ch chan struct{} // nil while nobody waits
}

// wait returns a channel that is closed at the next change.
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
