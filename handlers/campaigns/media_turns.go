package campaigns

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"newsletterd/handlers/web"
	"newsletterd/store/files"
)

const (
	// turnWait is the maximum time that an upload waits for its turn and for memory.
	turnWait = 10 * time.Second
	// tenantUploads is the maximum memory for one tenant's arriving and waiting images: half of the total.
	tenantUploads = web.UploadMemory / 2
)

// pictureTurns lets each tenant decode one image at a time and limits the memory for the tenant's other images. A
// tenant with many images therefore delays only its own uploads. Only the upload whose turn it is takes memory for
// decoding, so uploads never deadlock.
type pictureTurns struct {
	mu      sync.Mutex
	tenants map[string]*pictureTurn
}

// pictureTurn holds the state shared by a tenant's uploads.
type pictureTurn struct {
	uploads int                 // number of uploads in progress; after the last one, the turn is deleted
	next    *semaphore.Weighted // held by the upload that decodes
	memory  *semaphore.Weighted
}

func newPictureTurns() *pictureTurns { return &pictureTurns{tenants: map[string]*pictureTurn{}} }

// of returns a tenant's pictureTurn. Call done to release it.
func (t *pictureTurns) of(tenantID string) (own *pictureTurn, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own = t.tenants[tenantID]; own == nil {
		own = &pictureTurn{next: semaphore.NewWeighted(1), memory: semaphore.NewWeighted(tenantUploads)}
		t.tenants[tenantID] = own
	}
	own.uploads++
	return own, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.uploads--; own.uploads == 0 {
			delete(t.tenants, tenantID)
		}
	}
}

// grow reserves memory for an arriving image, first from the tenant's share and then from the total for all uploads.
func (t *pictureTurn) grow(ctx context.Context, all files.Grow) files.Grow {
	return func(n int) error {
		if n < 0 {
			t.memory.Release(int64(-n))
			return all(n)
		}
		wait, cancel := context.WithTimeout(ctx, web.BodyBudgetWait)
		defer cancel()
		if err := t.memory.Acquire(wait, int64(n)); err != nil {
			return web.ErrBusy.With(fmt.Errorf("wait for the tenant's upload memory: %w", err))
		}
		err := all(n)
		if err != nil {
			t.memory.Release(int64(n))
		}
		return err
	}
}

// take waits for the tenant's turn and for memory to decode the image. If the request ends or turnWait has passed, it
// returns an error.
func (t *pictureTurn) take(ctx context.Context, memory *semaphore.Weighted, bytes int64) (done func(), err error) {
	wait, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	if err := t.next.Acquire(wait, 1); err != nil {
		return nil, web.ErrBusy.With(fmt.Errorf("wait for the tenant's turn to decode images: %w", err))
	}
	if err := memory.Acquire(wait, bytes); err != nil {
		t.next.Release(1)
		return nil, web.ErrBusy.With(fmt.Errorf("wait for image memory: %w", err))
	}
	return func() {
		memory.Release(bytes)
		t.next.Release(1)
	}, nil
}
