package moqt

import (
	"sync"
	"time"

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
	e := p.ranking.Add(k, stream, time.Now())
	p.apply()
	return e
}

// maxBuffered is what transports may take from a writer and keep, in bytes: about a packet. Of a larger write they have
// sent something when it ends.
const maxBuffered = 1500

// write writes to the stream, which has its place while the bytes wait.
func (p *priorities) write(e *rankedStream, b []byte) (int, error) {
	p.mu.Lock()
	p.ranking.Start(e, time.Now())
	p.apply()
	p.mu.Unlock()
	n, err := e.Value.Write(b)
	p.mu.Lock()
	p.ranking.Stop(e, n > maxBuffered, time.Now())
	p.apply()
	p.mu.Unlock()
	return n, err
}

func (p *priorities) move(e *rankedStream, k priority.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranking.Move(e, k)
	p.apply()
}

// remove takes a stream out that has ended. What is left of one that was not abandoned is still sent in its turn.
func (p *priorities) remove(e *rankedStream, abandoned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranking.Remove(e, abandoned)
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
