package objects

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

// Owns reports whether the object with this key has exactly this content. If a Put was refused or got no response, Owns
// shows whether it has succeeded anyway. If there is no such object, Owns returns false.
func Owns(ctx context.Context, b Bucket, key string, body []byte) (bool, error) {
	info, err := b.Head(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.Size != int64(len(body)) {
		return false, err
	}
	if sum := md5.Sum(body); info.ETag == hex.EncodeToString(sum[:]) {
		return true, nil
	}
	// An ETag can be any string. If the storage encrypts, it looks like the MD5 of the content but isn't.
	r, err := b.Get(ctx, key, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	got, err := io.ReadAll(io.LimitReader(r, int64(len(body))+1))
	return err == nil && bytes.Equal(got, body), err
}

// Own reports whether the object with this key has exactly this content, like Owns. While the bucket doesn't respond,
// Own retries until ctx is done. It then returns false, so the caller must check ctx before it relies on false.
func Own(ctx context.Context, b Bucket, key string, body []byte) bool {
	for try := 0; ; try++ {
		own, err := Owns(ctx, b, key, body)
		if err == nil || pause(ctx, backoff(try)) != nil {
			return own
		}
	}
}

// Probe writes an object to the bucket and removes it. It returns an error if the bucket can't be reached or written
// to, or if it ignores Put's conditions, which the lease depends on.
func Probe(ctx context.Context, b Bucket) (err error) {
	key := "probe-" + strings.ToLower(rand.Text())
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if gone := b.Delete(ctx, key); err == nil && gone != nil {
			err = fmt.Errorf("objects in the bucket can't be deleted: %w", gone)
		}
	}()
	first, second := []byte("1"), []byte("2")
	etag, err := probePut(ctx, b, key, first, Condition{Absent: true})
	if f := new(failure); errors.As(err, &f) && f.status == http.StatusNotImplemented {
		return fmt.Errorf("the bucket doesn't support conditional writes (If-None-Match): %w", err)
	}
	if err != nil {
		return fmt.Errorf("the bucket can't be written to: %w", err)
	}
	if etag == "" {
		return errors.New("the bucket returns no ETag for writes")
	}
	for _, refused := range []struct {
		cond   Condition
		header string
	}{
		{Condition{Absent: true}, "If-None-Match"},
		{Condition{Match: strings.Repeat("0", 32)}, "If-Match"},
	} {
		_, err := b.Put(ctx, key, second, refused.cond)
		for try := 0; errors.Is(err, ErrAmbiguous) && try < maxTries-1 && pause(ctx, backoff(try)) == nil; try++ {
			_, err = b.Put(ctx, key, second, refused.cond)
		}
		if err == nil {
			return fmt.Errorf("the bucket ignores conditional writes (%s), so it can't hold a replica. Use another "+
				"storage provider",
				refused.header)
		}
		if !errors.Is(err, ErrPrecondition) {
			return fmt.Errorf("the bucket doesn't support conditional writes (%s): %w", refused.header, err)
		}
	}
	if _, err := probePut(ctx, b, key, second, Condition{Match: etag}); err != nil {
		return fmt.Errorf("the bucket doesn't support conditional writes (If-Match): %w", err)
	}
	own, err := Owns(ctx, b, key, second)
	if err != nil {
		return fmt.Errorf("the bucket can't be read: %w", err)
	}
	if !own {
		return errors.New("the bucket doesn't return the last write")
	}
	return nil
}

// probePut puts an object that only this process uses, and retries until the storage confirms it.
func probePut(ctx context.Context, b Bucket, key string, body []byte, cond Condition) (string, error) {
	for try := 0; ; try++ {
		etag, err := b.Put(ctx, key, body, cond)
		switch {
		case err == nil:
			return etag, nil
		case errors.Is(err, ErrPrecondition) && try > 0: // an earlier attempt may have written it
			if own, headErr := Owns(ctx, b, key, body); headErr == nil && own {
				info, headErr := b.Head(ctx, key)
				return info.ETag, headErr
			}
			return "", err
		case !errors.Is(err, ErrAmbiguous) || try == maxTries-1:
			return "", err
		}
		if pause(ctx, backoff(try)) != nil {
			return "", err
		}
	}
}
