package worker

import (
	"context"
	"sync"
)

// signPool renders and signs emails in its own goroutines. Signing costs more than all other work on an email, so a
// connection should not do it while its relay waits.
type signPool struct {
	work  chan *prepared
	start sync.Once
	n     int // number of goroutines
}

func newSignPool(n int) *signPool {
	return &signPool{work: make(chan *prepared, 256), n: n}
}

// full reports whether add would probably block, because the queue is full.
func (p *signPool) full() bool { return len(p.work) == cap(p.work) }

// add passes an email to the pool, and reports whether it did so before ctx ended.
func (p *signPool) add(ctx context.Context, d *prepared) bool {
	p.start.Do(func() {
		for range p.n {
			go p.run()
		}
	})
	d.done = make(chan struct{})
	select {
	case p.work <- d:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *signPool) run() {
	var scratch []byte
	for d := range p.work {
		d.make(&scratch)
		close(d.done)
	}
}

// close ends the pool's goroutines. No connection may be running.
func (p *signPool) close() { close(p.work) }
