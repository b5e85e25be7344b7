package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"newsletterd/store/replica/objectstest"
)

// storage returns a bucket in a test storage. It doesn't wait before retries and uploads parts of 1 KiB.
func storage(t testing.TB) (*s3, *objectstest.Server) {
	t.Helper()
	server := objectstest.New(t)
	b, err := Open(server.URL(), objectstest.Env("machine-a"))
	if err != nil {
		t.Fatal(err)
	}
	bucket := b.(*s3)
	t.Cleanup(bucket.client.CloseIdleConnections)
	bucket.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	bucket.partSize = 1 << 10
	return bucket, server
}

// inFolder returns a bucket in a folder.
func inFolder(t testing.TB) *folder {
	t.Helper()
	name, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open("file://"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.(*mount).here
}

// onBoth runs a test with both kinds of buckets.
func onBoth(t *testing.T, test func(t *testing.T, b Bucket)) {
	t.Run("s3", func(t *testing.T) {
		b, _ := storage(t)
		test(t, b)
	})
	t.Run("file", func(t *testing.T) { test(t, inFolder(t)) })
}

func put(t testing.TB, b Bucket, key, body string) string {
	t.Helper()
	etag, err := b.Put(t.Context(), key, []byte(body), Condition{})
	if err != nil {
		t.Fatal(err)
	}
	return etag
}

// get returns the content of an object from offset, up to size bytes.
func get(t testing.TB, b Bucket, key string, offset, size int64) string {
	t.Helper()
	r, err := b.Get(t.Context(), key, offset, size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func keysOf(t testing.TB, b Bucket, prefix, after string) (keys []string) {
	t.Helper()
	for info, err := range b.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func TestConditionsHold(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		ctx := t.Context()
		try := func(what, body string, cond Condition, want error) string {
			t.Helper()
			etag, err := b.Put(ctx, "lease/lock.json", []byte(body), cond)
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Fatalf("%s: got %v, want %v", what, err, want)
			}
			if errors.Is(err, ErrAmbiguous) {
				t.Fatalf("%s: a refusal is ambiguous: %v", what, err)
			}
			return etag
		}
		try("Match of what isn't there", "0", Condition{Match: strings.Repeat("0", 32)}, ErrPrecondition)
		first := try("Absent", "1", Condition{Absent: true}, nil)
		try("Absent of what is there", "2", Condition{Absent: true}, ErrPrecondition)
		try("Match of another ETag", "2", Condition{Match: strings.Repeat("0", 32)}, ErrPrecondition)
		second := try("Match", "2", Condition{Match: first}, nil)
		try("Match of an older ETag", "3", Condition{Match: first}, ErrPrecondition)
		if first == second {
			t.Error("two contents have one ETag")
		}
		if got := get(t, b, "lease/lock.json", 0, 0); got != "2" {
			t.Errorf("the object has %q", got)
		}
		info, err := b.Head(ctx, "lease/lock.json")
		if err != nil || info.ETag != second || info.Size != 1 || info.Key != "lease/lock.json" ||
			time.Since(info.Modified).Abs() > time.Minute {
			t.Errorf("Head: %+v, %v", info, err)
		}
		try("no condition", "4", Condition{}, nil)
	})
}

// TestOneWriterWins checks that only one of several concurrent conditional Puts of a key succeeds.
func TestOneWriterWins(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		etag := put(t, b, "match", "first")
		for key, cond := range map[string]Condition{"absent": {Absent: true}, "match": {Match: etag}} {
			var wins atomic.Int32
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					_, err := b.Put(t.Context(), key, fmt.Appendf(nil, "of %d", i), cond)
					if err == nil {
						wins.Add(1)
					} else if !errors.Is(err, ErrPrecondition) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if wins.Load() != 1 {
				t.Errorf("%s: %d writers won", key, wins.Load())
			}
		}
	})
}

func TestRanges(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		put(t, b, "a/b", "0123456789")
		put(t, b, "empty", "")
		for _, c := range []struct {
			key          string
			offset, size int64
			want         string
		}{
			{"a/b", 0, 0, "0123456789"},
			{"a/b", 0, 3, "012"},
			{"a/b", 4, 0, "456789"},
			{"a/b", 4, 2, "45"},
			{"a/b", 8, 100, "89"},
			{"a/b", 10, 0, ""},
			{"a/b", 10, 5, ""},
			{"a/b", 11, 1, ""},
			{"empty", 0, 0, ""},
			{"empty", 0, 5, ""},
		} {
			if got := get(t, b, c.key, c.offset, c.size); got != c.want {
				t.Errorf("%s from %d, %d bytes: %q, want %q", c.key, c.offset, c.size, got, c.want)
			}
		}
		if _, err := b.Get(t.Context(), "a/b", -1, 0); err == nil {
			t.Error("an offset below 0 is taken")
		}
	})
}

func TestWhatIsNotThere(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		put(t, b, "a/b", "1")
		for _, key := range []string{"no", "a", "a/c", "no/such/folder"} {
			if _, err := b.Head(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Head %s: %v", key, err)
			}
			if _, err := b.Get(t.Context(), key, 0, 0); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Get %s: %v", key, err)
			}
			if err := b.Delete(t.Context(), key); err != nil {
				t.Errorf("Delete %s: %v", key, err)
			}
		}
		if got := keysOf(t, b, "no/", ""); got != nil {
			t.Errorf("%q", got)
		}
		if got := keysOf(t, b, "", ""); !slices.Equal(got, []string{"a/b"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestListings(t *testing.T) {
	// In byte order the slash of a folder sorts after - and . and before digits.
	all := []string{
		"a", "b-c", "b.txt", "b/1", "b/1.x", "b/10/x", "b/2", "b/é ü+%&?#=<>\"'", "b0", "c/d/e/f", "ltx/0000.ltx", "z~",
	}
	onBoth(t, func(t *testing.T, b Bucket) {
		for _, i := range []int{3, 0, 11, 7, 5, 1, 4, 2, 10, 6, 8, 9} {
			put(t, b, all[i], all[i])
		}
		for _, prefix := range []string{"", "b", "b/", "b/1", "b/10/", "c/d", "c/d/", "nothing", "ltx/", "z", "b-"} {
			for _, after := range append([]string{"", "b/", "b/1/", "zz", "0"}, all...) {
				var want []string
				for _, key := range all {
					if strings.HasPrefix(key, prefix) && key > after {
						want = append(want, key)
					}
				}
				if got := keysOf(t, b, prefix, after); !slices.Equal(got, want) {
					t.Errorf("prefix %q after %q: %q, want %q", prefix, after, got, want)
				}
			}
		}
		for info, err := range b.List(t.Context(), "b/", "") {
			if err != nil || info.Size != int64(len(info.Key)) || time.Since(info.Modified).Abs() > time.Minute {
				t.Errorf("%+v, %v", info, err)
			}
			if got := get(t, b, info.Key, 0, 0); got != info.Key {
				t.Errorf("%s has %q", info.Key, got)
			}
			if info.Key == "b/2" {
				break // breaking out of a listing is allowed
			}
		}
		if err := b.Delete(t.Context(), append([]string{"none"}, all[:11]...)...); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, b, "", ""); !slices.Equal(got, all[11:]) {
			t.Errorf("after removing the others: %q", got)
		}
		if err := b.Delete(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStreams(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		for _, size := range []int{0, 1, 1023, 1024, 1025, 2048, 10_000} {
			body := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
			info, err := b.PutStream(t.Context(), "snapshot", iotest.HalfReader(bytes.NewReader(body)))
			if err != nil || info.Size != int64(size) || info.Key != "snapshot" || info.ETag == "" ||
				time.Since(info.Modified).Abs() > time.Minute {
				t.Fatalf("%d bytes: %+v, %v", size, info, err)
			}
			if got := get(t, b, "snapshot", 0, 0); got != string(body) {
				t.Errorf("%d bytes came back as %d", size, len(got))
			}
			head, err := b.Head(t.Context(), "snapshot")
			if err != nil || head.ETag != info.ETag || head.Size != info.Size {
				t.Errorf("%+v, %v, and the stream gave %+v", head, err, info)
			}
		}
		failed := errors.New("the source fails")
		source := io.MultiReader(bytes.NewReader(make([]byte, 5000)), iotest.ErrReader(failed))
		if _, err := b.PutStream(t.Context(), "snapshot", source); !errors.Is(err, failed) {
			t.Errorf("%v", err)
		}
		if info, err := b.Head(t.Context(), "snapshot"); err != nil || info.Size != 10_000 {
			t.Errorf("half a stream replaced the object: %+v, %v", info, err)
		}
	})
}

func TestKeysThatAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		for _, key := range []string{
			"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".newsletterd/lock", "a\x00b", "a\nb", "a\xffb",
			strings.Repeat("a", 513),
		} {
			_, err := b.Put(t.Context(), key, nil, Condition{})
			_, streamed := b.PutStream(t.Context(), key, strings.NewReader(""))
			_, head := b.Head(t.Context(), key)
			_, got := b.Get(t.Context(), key, 0, 0)
			if err == nil || streamed == nil || head == nil || got == nil || b.Delete(t.Context(), key, "b") == nil ||
				b.Delete(t.Context(), key) == nil {
				t.Errorf("%q is taken: %v, %v, %v, %v", key, err, streamed, head, got)
			}
			if f := new(failure); errors.As(errors.Join(err, streamed, head, got, b.Delete(t.Context(), key)), &f) {
				t.Errorf("%q goes to the storage: %v", key, f)
			}
		}
	})
}

func TestOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		put(t, b, "key", "12345")
		for body, want := range map[string]bool{"12345": true, "54321": false, "1234": false, "123456": false, "": false} {
			if got := Own(t.Context(), b, "key", []byte(body)); got != want {
				t.Errorf("%q: %t", body, got)
			}
		}
		if Own(t.Context(), b, "none", nil) {
			t.Error("what isn't there is ours")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if Own(ctx, b, "key", []byte("12345")) {
			t.Error("own without an answer")
		}
	})
}

func TestProbe(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		if err := Probe(t.Context(), b); err != nil {
			t.Error(err)
		}
		if got := keysOf(t, b, "", ""); got != nil {
			t.Errorf("a probe leaves %q", got)
		}
	})
}

func TestContextsEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, b Bucket) {
		put(t, b, "key", "1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Put(ctx, "key", []byte("2"), Condition{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Put: %v", err)
		}
		if _, err := b.Head(ctx, "key"); !errors.Is(err, context.Canceled) {
			t.Errorf("Head: %v", err)
		}
		for _, err := range b.List(ctx, "", "") {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("List: %v", err)
			}
		}
		ctx, cancel = context.WithCancel(t.Context())
		source := io.MultiReader(strings.NewReader(strings.Repeat("2", 5000)), readerFunc(func(p []byte) (int, error) {
			cancel() // in the middle of the endless stream
			return len(p), nil
		}))
		if _, err := b.PutStream(ctx, "key", source); !errors.Is(err, context.Canceled) {
			t.Errorf("PutStream: %v", err)
		}
		if got := get(t, b, "key", 0, 0); got != "1" {
			t.Errorf("got %q", got)
		}
	})
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
