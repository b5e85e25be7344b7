package pictures

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/worker"
)

const (
	tenantsAtOnce = 3
	every         = time.Minute // interval of searches for images that a command retries
	retry         = time.Minute // delay if the disk is full or failing
	lookAgain     = time.Second // interval of searches for other tenants' images during a turn
)

// Options are the dependencies of Loop.
type Options struct {
	Store  *store.Store
	Client *http.Client        // connects through the guard
	Limits core.MediaLimits    // of images
	Origin string              // public URL for tenants without one
	Memory *semaphore.Weighted // for decoding images
	Text   func(ctx context.Context, title, body string) (campaigns.IssueText, error)
	Log    *slog.Logger
}

// copier copies images.
type copier struct {
	Options
	client *http.Client
	decode chan struct{} // holds one value while an image is decoded
	loop   *worker.Loop
}

// Loop returns the loop that copies images and removes copies. At most three tenants are served concurrently. Turns are
// short, so other tenants wait a minute at most, even if servers don't respond. A tenant whose turn failed waits for
// the next search.
func Loop(o Options) *worker.Loop {
	c := &copier{Options: o, client: following(o.Client), decode: make(chan struct{}, 1)}
	c.loop = &worker.Loop{Name: "pictures", Step: c.step}
	o.Store.OnKick(db.TopicPictures, c.loop.Kick)
	return c.loop
}

// ended is the result of a tenant's turn.
type ended struct {
	tenant string
	err    error
}

func (c *copier) step(ctx context.Context, _ time.Time) time.Time {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.loop.Stopping():
			cancel()
		case <-ctx.Done():
		}
	}()
	var failure error
	var busy, failed []string // tenants with a turn, and those whose last turn failed
	done, after := make(chan ended), ""
	for {
		for len(busy) < tenantsAtOnce && failure == nil && ctx.Err() == nil {
			t, err := c.Store.NextPictures(ctx, after, slices.Concat(busy, failed))
			if errors.Is(err, core.ErrNotFound) {
				break
			}
			if err != nil {
				failure = err
				break
			}
			after, busy = t.TenantID, append(busy, t.TenantID)
			go func() { done <- ended{t.TenantID, c.guarded(ctx, &t)} }()
		}
		if len(busy) == 0 {
			break
		}
		select {
		case e := <-done:
			busy = slices.DeleteFunc(busy, func(id string) bool { return id == e.tenant })
			if e.err != nil && ctx.Err() == nil {
				failed = append(failed, e.tenant)
				c.Log.Warn("pictures: copying continues later", slog.String("tenant", e.tenant),
					slog.Any("error", e.err))
			}
		case <-time.After(lookAgain):
		}
	}
	switch {
	case ctx.Err() != nil:
		return worker.Never
	case failure != nil:
		c.Log.Warn("pictures: copying continues later", slog.Any("error", failure))
		return time.Now().Add(retry)
	case len(failed) > 0:
		return time.Now().Add(retry)
	}
	return time.Now().Add(every)
}

// guarded performs one turn for a tenant. It converts a panic to an error, so that other tenants' turns continue.
func (c *copier) guarded(ctx context.Context, t *imports.PictureTurn) (err error) {
	defer caught(&err)
	return c.turn(ctx, t)
}

// caught recovers from a panic in the function that defers it, and stores it in *err.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
	}
}

var errPanic = errors.New("panic")

// turn copies some of a tenant's images, or removes copies.
func (c *copier) turn(ctx context.Context, t *imports.PictureTurn) error {
	if t.Removing {
		return c.Store.RemovePictures(ctx, t.ImportID)
	}
	return c.copy(ctx, t)
}
