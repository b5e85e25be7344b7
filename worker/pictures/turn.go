package pictures

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/mail/article"
	"newsletterd/mail/picture"
	"newsletterd/store/campaigns"
	"newsletterd/store/imports"
)

const (
	turnPictures  = 8 // images per turn
	fetchesAtOnce = 4
)

// copy copies an issue's next images. When none are left, it makes the issue show the copies.
func (c *copier) copy(ctx context.Context, t *imports.PictureTurn) error {
	addresses := article.PostPictures(t.Body)
	keys := make([]string, len(addresses))
	for i, a := range addresses {
		keys[i] = core.PictureKey(a)
	}
	known, err := c.Store.PicturesAt(ctx, t.ImportID, keys)
	if err != nil {
		return err
	}
	var next []job
	waiting := false
	for i, key := range keys {
		switch p, ok := known[key]; {
		case !ok || p.State != core.PictureWaiting:
		case len(next) == turnPictures:
			waiting = true
		default:
			next = append(next, job{addresses[i], p.No})
		}
	}
	if len(next) > 0 {
		if err := c.copyAll(ctx, t, next); err != nil || waiting {
			return err
		}
		if known, err = c.Store.PicturesAt(ctx, t.ImportID, keys); err != nil {
			return err
		}
	}
	return c.settle(ctx, t, addresses, known)
}

// job is an image that must be copied.
type job struct {
	address string
	no      int64
}

// copyAll copies images, a few at a time.
func (c *copier) copyAll(ctx context.Context, t *imports.PictureTurn, jobs []job) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan job, len(jobs))
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	shared := newShared(c.Limits.Bytes)
	for range fetchesAtOnce {
		all.Go(func() {
			for j := range queue {
				if err := c.attempt(ctx, t, j, shared); err != nil {
					mu.Lock()
					failures = append(failures, err)
					mu.Unlock()
					cancel()
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// attempt is like copyOne, but treats an image whose data causes a panic as damaged.
func (c *copier) attempt(ctx context.Context, t *imports.PictureTurn, j job, s *shared) error {
	err := func() (err error) {
		defer caught(&err)
		return c.copyOne(ctx, t, j, s)
	}()
	if errors.Is(err, errPanic) {
		c.Log.Error("pictures: an image can't be copied", slog.String("import", t.ImportID),
			slog.Int64("picture", j.no), slog.Any("error", err))
		return c.Store.FailPicture(ctx, t, j.no, core.PictureDamaged)
	}
	return err
}

// copyOne copies an image, or records why that failed. It returns only disk errors and those of ctx.
func (c *copier) copyOne(ctx context.Context, t *imports.PictureTurn, j job, s *shared) error {
	reason := core.PictureStorageFull
	m := memory{of: s}
	defer m.release()
	full, err := c.full(ctx, t, s)
	if err == nil && !full {
		var data []byte
		data, reason, err = c.bytesOf(ctx, t, j, &m)
		if err == nil && reason == "" {
			reason, err = c.store(ctx, t, j, data)
			s.note("", reason)
		}
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if reason != "" {
		return c.Store.FailPicture(ctx, t, j.no, reason)
	}
	return nil
}

// full reports whether the tenant has no room for another image.
func (c *copier) full(ctx context.Context, t *imports.PictureTurn, s *shared) (bool, error) {
	if s.full() {
		return true, nil
	}
	used, err := c.Store.MediaBytes(ctx, t.TenantID)
	return used >= c.Limits.BytesPerTenant, err
}

// store decodes and stores an image. reason says why it can't be stored; empty: it was stored.
func (c *copier) store(ctx context.Context, t *imports.PictureTurn, j job, data []byte) (reason string, err error) {
	select {
	case c.decode <- struct{}{}:
		defer func() { <-c.decode }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	p, err := picture.Open(data)
	if err != nil {
		return reasonOf(err)
	}
	if err := c.Memory.Acquire(ctx, p.Memory); err != nil {
		return "", fmt.Errorf("wait for image memory: %w", err)
	}
	defer c.Memory.Release(p.Memory)
	name := core.PictureName(j.address)
	m, err := core.NewMedia(t.TenantID, t.CreatedBy, core.MediaInput{Name: &name}, core.At(time.Now()))
	if err != nil {
		return "", err
	}
	if m.Full, m.Mail, err = p.Make(ctx, int(c.Limits.Bytes)); err != nil {
		return reasonOf(err)
	}
	err = c.Store.StorePicture(ctx, t, j.no, m, c.Limits)
	switch {
	case errors.Is(err, core.ErrNotFound): // the issue or the tenant is gone
		return "", nil
	case core.KindOf(err) == core.TooLarge:
		return core.PictureStorageFull, nil
	}
	return "", err
}

// reasonOf returns the reason to record for an error in an image. It returns all other errors unchanged.
func reasonOf(err error) (string, error) {
	fault, ok := errors.AsType[*core.Error](err)
	switch {
	case ok && fault.Kind == core.TooLarge:
		return core.PictureTooLarge, nil
	case ok && fault.Code == "unsupported_picture":
		return core.PictureUnsupported, nil
	case ok && fault.Code == "invalid_picture":
		return core.PictureDamaged, nil
	}
	return "", err
}

// settle makes an issue show the copies of its images.
func (c *copier) settle(ctx context.Context, t *imports.PictureTurn, addresses []string,
	known map[string]core.ImportedPicture,
) error {
	tenant, err := c.Store.Tenant(ctx, t.TenantID)
	if errors.Is(err, core.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	origin, copies := tenant.Origin(c.Origin), map[string]article.Copy{}
	for _, address := range addresses {
		p := known[core.PictureKey(address)]
		if p.State != core.PictureStored {
			continue
		}
		m, err := c.Store.Media(ctx, p.MediaID)
		if errors.Is(err, core.ErrNotFound) {
			continue // someone has deleted it
		}
		if err != nil {
			return err
		}
		copies[address] = article.Copy{URL: origin + m.Mail.Path(m.Name), Full: origin + m.Full.Path(m.Name)}
	}
	body, text, err := c.shown(ctx, t, copies)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, core.ErrStorage) {
			return err
		}
		c.Log.Error("pictures: an issue can't show its copies", slog.String("import", t.ImportID),
			slog.Int64("post", t.PostNo), slog.Any("error", err))
		return c.Store.LeavePictures(ctx, t)
	}
	return c.Store.SettlePictures(ctx, t, body, &text)
}

// shown returns an issue's body with the copies of its images, and its text. It returns a panic as an error.
func (c *copier) shown(ctx context.Context, t *imports.PictureTurn, copies map[string]article.Copy) (body string,
	text campaigns.IssueText, err error,
) {
	defer caught(&err)
	if body, err = article.ShowCopies(t.Body, copies); err == nil {
		text, err = c.Text(ctx, t.Title, body)
	}
	return body, text, err
}
