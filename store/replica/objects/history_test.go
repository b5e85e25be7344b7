package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

// TestEachWriteCountsOnce lets several writers append lines to one object, each based on the content it has read. No
// line may be lost or added twice, even if responses are lost or two writers write at the same time.
func TestEachWriteCountsOnce(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		b := inFolder(t)
		other, err := Open("file://"+b.root.Name(), nil) // what another process would open
		if err != nil {
			t.Fatal(err)
		}
		checkHistory(t, b, other)
	})
	t.Run("s3", func(t *testing.T) {
		b, server := storage(t)
		opened, err := Open(server.URL(), objectstest.Env("machine-b"))
		if err != nil {
			t.Fatal(err)
		}
		other := opened.(*s3)
		other.wait = b.wait
		server.Set(objectstest.Faults{Decide: func(r objectstest.Request) (f objectstest.Fault) {
			if rand.N(10) < 4 {
				f.Kind = objectstest.Kind(rand.N(int(objectstest.HalfAnswer) + 1))
			}
			return f
		}})
		checkHistory(t, b, other)
	})
}

func checkHistory(t *testing.T, buckets ...Bucket) {
	const writers, lines = 6, 15
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for w := range writers {
		b := buckets[w%len(buckets)]
		wg.Go(func() {
			for i := range lines {
				if err := addLine(ctx, b, fmt.Sprintf("%d/%d", w, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	text, _, err := readLines(ctx, buckets[0])
	for err != nil && ctx.Err() == nil { // the storage can fail four times in a row
		text, _, err = readLines(ctx, buckets[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	next := [writers]int{}
	for line := range strings.Lines(text) {
		var w, i int
		if _, err := fmt.Sscanf(line, "%d/%d\n", &w, &i); err != nil || next[w] != i {
			t.Fatalf("%q comes when line %d is due: %v", line, next[w], err)
		}
		next[w]++
	}
	for w, n := range next {
		if n != lines {
			t.Errorf("writer %d: %d lines are left", w, n)
		}
	}
}

// addLine adds a line exactly once.
func addLine(ctx context.Context, b Bucket, line string) error {
	for {
		text, cond, err := readLines(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		text += line + "\n"
		for {
			_, err := b.Put(ctx, "lines", []byte(text), cond)
			if err == nil {
				return nil
			}
			if errors.Is(err, ErrPrecondition) {
				break
			}
			if !errors.Is(err, ErrAmbiguous) {
				return err
			}
		}
		// An earlier attempt may have added the line, and others may have added theirs since.
		for {
			there, _, err := readLines(ctx, b)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				continue
			}
			if strings.HasPrefix(there, text) {
				return nil
			}
			break
		}
	}
}

// readLines returns the object and a condition with its ETag.
func readLines(ctx context.Context, b Bucket) (text string, cond Condition, err error) {
	info, err := b.Head(ctx, "lines")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", Condition{Absent: true}, nil
		}
		return "", cond, err
	}
	r, err := b.Get(ctx, "lines", 0, 0)
	if err != nil {
		return "", cond, err
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err == nil && int64(len(all)) != info.Size {
		err = errors.New("it has changed since")
	}
	return string(all), Condition{Match: info.ETag}, err
}
