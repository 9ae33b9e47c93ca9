package moqt

import (
	"sync"

	"github.com/moq-c4/moq-c4/priority"
)

// priorities gives the data streams of a session their urgencies.
type priorities struct {
	mu      sync.Mutex // held while urgencies are set, so that they are set in order; no other lock is taken with it held
	ranking priority.Ranking[SendStream]
}

type rankedStream = priority.Entry[SendStream]

func (p *priorities) add(k priority.Key, stream SendStream) *rankedStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.ranking.Add(k, stream)
	p.apply()
	return e
}

func (p *priorities) move(e *rankedStream, k priority.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranking.Move(e, k)
	p.apply()
}

func (p *priorities) remove(e *rankedStream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranking.Remove(e)
	p.apply()
}

func (p *priorities) apply() {
	for {
		stream, urgency, ok := p.ranking.Poll()
		if !ok {
			return
		}
		stream.SetPriority(urgency)
	}
}
