package pictures

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
	every         = time.Minute // interval of searches for pictures that a command wants again
	retry         = time.Minute // delay after a disk that is full or fails
	lookAgain     = time.Second // interval of searches for other tenants' pictures during a turn
)

// Options are the dependencies of Loop.
type Options struct {
	Store  *store.Store
	Client *http.Client        // connects through the guard
	Limits core.MediaLimits    // of images
	Origin string              // public URL of tenants without their own
	Memory *semaphore.Weighted // for decoding images
	Text   func(ctx context.Context, title, body string) (campaigns.IssueText, error)
	Log    *slog.Logger
}

// copier copies pictures.
type copier struct {
	Options
	client *http.Client
	decode chan struct{} // holds one value while an image is decoded
	loop   *worker.Loop
}

// Loop returns the loop that copies pictures and removes copies. Three tenants at most are served concurrently. A turn
// of a tenant is short, so others wait a minute at most, even if servers don't respond.
func Loop(o Options) *worker.Loop {
	c := &copier{Options: o, client: following(o.Client), decode: make(chan struct{}, 1)}
	c.loop = &worker.Loop{Name: "pictures", Step: c.step}
	o.Store.OnKick(db.TopicPictures, c.loop.Kick)
	return c.loop
}

// ended is the result of a turn.
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
	var busy []string // tenants with a turn
	done, after := make(chan ended), ""
	for {
		for len(busy) < tenantsAtOnce && failure == nil && ctx.Err() == nil {
			t, err := c.Store.NextPictures(ctx, after, busy)
			if errors.Is(err, core.ErrNotFound) {
				break
			}
			if err != nil {
				failure = err
				break
			}
			after, busy = t.TenantID, append(busy, t.TenantID)
			go func() { done <- ended{t.TenantID, c.turn(ctx, &t)} }()
		}
		if len(busy) == 0 {
			break
		}
		select {
		case e := <-done:
			for i := range busy {
				if busy[i] == e.tenant {
					busy = append(busy[:i], busy[i+1:]...)
					break
				}
			}
			if e.err != nil {
				failure = e.err
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
	}
	return time.Now().Add(every)
}

// turn does one turn of a tenant.
func (c *copier) turn(ctx context.Context, t *imports.PictureTurn) error {
	if t.Removing {
		return c.Store.RemovePictures(ctx, t.ImportID)
	}
	return c.copy(ctx, t)
}
