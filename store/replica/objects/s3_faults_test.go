package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

// first returns a Decide function that makes the first n requests of an operation fail.
func first(n int, op string, kind objectstest.Kind) func(objectstest.Request) objectstest.Fault {
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	return func(r objectstest.Request) objectstest.Fault {
		if r.Op != op {
			return objectstest.Fault{}
		}
		select {
		case <-left:
			return objectstest.Fault{Kind: kind}
		default:
			return objectstest.Fault{}
		}
	}
}

// TestRequestsAreTriedAgain checks that idempotent requests are retried three times.
func TestRequestsAreTriedAgain(t *testing.T) {
	do := map[string]func(b Bucket) error{
		"PUT": func(b Bucket) error {
			_, err := b.Put(t.Context(), "key", []byte("12"), Condition{})
			return err
		},
		"HEAD":   func(b Bucket) error { _, err := b.Head(t.Context(), "key"); return err },
		"DELETE": func(b Bucket) error { return b.Delete(t.Context(), "key") },
		"DELETES": func(b Bucket) error {
			return b.Delete(t.Context(), "key", "key2")
		},
		"LIST": func(b Bucket) (err error) {
			for _, e := range b.List(t.Context(), "", "") {
				err = e
			}
			return err
		},
		"GET": func(b Bucket) error {
			r, err := b.Get(t.Context(), "key", 0, 0)
			if err == nil {
				r.Close()
			}
			return err
		},
	}
	for _, kind := range []objectstest.Kind{
		objectstest.Error500, objectstest.Error503, objectstest.Conflict, objectstest.Cut, objectstest.LostAnswer,
	} {
		for op, try := range do {
			b, server := storage(t)
			put(t, b, "key", "12")
			server.Set(objectstest.Faults{Decide: first(3, op, kind)})
			if err := try(b); err != nil {
				t.Errorf("%s after three faults %d: %v", op, kind, err)
			}
			put(t, b, "key", "12")
			server.Set(objectstest.Faults{Decide: first(100, op, kind)})
			before := server.Counts()[op]
			err := try(b)
			if err == nil || errors.Is(err, ErrAmbiguous) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s with faults %d only: %v", op, kind, err)
			}
			if n := server.Counts()[op] - before; n < 4 || n > 8 { // a GET on a used connection may repeat
				t.Errorf("%s with faults %d only: %d requests", op, kind, n)
			}
		}
	}
}

// TestConditionalPutsAreAmbiguous checks that a conditional Put is sent only once, and that a missing response is
// reported as ErrAmbiguous.
func TestConditionalPutsAreAmbiguous(t *testing.T) {
	for _, kind := range []objectstest.Kind{
		objectstest.Error500, objectstest.Error503, objectstest.Cut, objectstest.LostAnswer,
	} {
		b, server := storage(t)
		ctx := t.Context()
		server.Set(objectstest.Faults{Decide: first(1, "PUT", kind)})
		_, err := b.Put(ctx, "key", []byte("12"), Condition{Absent: true})
		if !errors.Is(err, ErrAmbiguous) || errors.Is(err, ErrPrecondition) {
			t.Errorf("fault %d: %v", kind, err)
		}
		if n := server.Counts()["PUT"]; n != 1 {
			t.Errorf("fault %d: %d requests", kind, n)
		}
		_, err = b.Put(ctx, "key", []byte("12"), Condition{Absent: true})
		if done := kind == objectstest.LostAnswer; errors.Is(err, ErrPrecondition) != done || (err != nil) != done {
			t.Errorf("fault %d: the second Put: %v", kind, err)
		}
		if !Own(ctx, b, "key", []byte("12")) || Own(ctx, b, "key", []byte("13")) {
			t.Errorf("fault %d: whose Put it was is not known", kind)
		}
	}
}

// TestConflictsAreTriedAgain checks that a conflict is retried. It doesn't show whether the condition holds, only that
// another write is in progress.
func TestConflictsAreTriedAgain(t *testing.T) {
	b, server := storage(t)
	server.Set(objectstest.Faults{Decide: first(3, "PUT", objectstest.Conflict)})
	if _, err := b.Put(t.Context(), "key", []byte("12"), Condition{Absent: true}); err != nil {
		t.Error(err)
	}
	server.Set(objectstest.Faults{Decide: first(4, "PUT", objectstest.Conflict)})
	_, err := b.Put(t.Context(), "key2", []byte("12"), Condition{Absent: true})
	if !errors.Is(err, ErrAmbiguous) || errors.Is(err, ErrPrecondition) {
		t.Error(err)
	}
}

// TestOwnOutlastsFaults checks that Own retries until it gets a response.
func TestOwnOutlastsFaults(t *testing.T) {
	b, server := storage(t)
	put(t, b, "key", "12")
	server.Set(objectstest.Faults{Decide: first(6, "HEAD", objectstest.Error503)})
	if !Own(t.Context(), b, "key", []byte("12")) {
		t.Error("not known")
	}
	server.Set(objectstest.Faults{Decide: first(100, "HEAD", objectstest.Error503)})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if Own(ctx, b, "key", []byte("12")) || ctx.Err() == nil {
		t.Error("known without an answer")
	}
}

func TestBucketsWithoutConditionsAreRefused(t *testing.T) {
	for header, faults := range map[string]objectstest.Faults{
		"If-None-Match": {IgnoresAbsent: true},
		"If-Match":      {IgnoresMatch: true},
	} {
		b, server := storage(t)
		server.Set(faults)
		err := Probe(t.Context(), b)
		if err == nil || !strings.Contains(err.Error(), "ignores conditional writes ("+header+")") {
			t.Errorf("%v", err)
		}
		if keys := server.Keys(); len(keys) != 0 {
			t.Errorf("left: %q", keys)
		}
	}
}

func TestBucketsThatKeepAllAreRefused(t *testing.T) {
	b, server := storage(t)
	server.Set(objectstest.Faults{Decide: first(100, "DELETE", objectstest.Error500)})
	if err := Probe(t.Context(), b); err == nil || !strings.Contains(err.Error(), "can't be deleted") {
		t.Errorf("%v", err)
	}
}

// TestBucketsThatKnowNoConditionsAreRefused checks that Probe refuses storages that report that they don't support
// conditions.
func TestBucketsThatKnowNoConditionsAreRefused(t *testing.T) {
	b, _ := storage(t)
	b.client.Transport = statusOf{answering(func(*http.Request) io.Reader {
		return strings.NewReader("<Error><Code>NotImplemented</Code></Error>")
	}), http.StatusNotImplemented}
	err := Probe(t.Context(), b)
	if err == nil || !strings.Contains(err.Error(), "doesn't support conditional writes (If-None-Match)") ||
		!strings.Contains(err.Error(), "501 NotImplemented") {
		t.Errorf("%v", err)
	}
}

// TestProbeOutlastsFaults checks that Probe reports problems of the bucket, and retries after problems of the network.
func TestProbeOutlastsFaults(t *testing.T) {
	for _, kind := range []objectstest.Kind{objectstest.LostAnswer, objectstest.Error503} {
		b, server := storage(t)
		server.Set(objectstest.Faults{Decide: first(1, "PUT", kind)})
		if err := Probe(t.Context(), b); err != nil {
			t.Errorf("%d: %v", kind, err)
		}
	}
}

func TestListingsAreWhole(t *testing.T) {
	b, server := storage(t)
	put(t, b, "key", "1")
	server.Set(objectstest.Faults{Decide: first(2, "LIST", objectstest.HalfAnswer)})
	if got := keysOf(t, b, "", ""); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestListingsThatAreBehind(t *testing.T) {
	b, server := storage(t)
	put(t, b, "old", "1")
	server.Set(objectstest.Faults{Stale: time.Hour})
	put(t, b, "new", "1")
	if err := b.Delete(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, b, "", ""); len(got) != 1 || got[0] != "old" {
		t.Errorf("%q", got)
	}
	server.Set(objectstest.Faults{})
	if got := keysOf(t, b, "", ""); len(got) != 1 || got[0] != "new" {
		t.Errorf("%q", got)
	}
}

func TestLongListings(t *testing.T) {
	b, server := storage(t)
	var keys []string
	for i := range 2500 {
		keys = append(keys, fmt.Sprintf("ltx/%04d%s", i, strings.Repeat("é", i%3)))
	}
	for _, faults := range []objectstest.Faults{{}, {NoDeletes: true}} {
		server.Set(faults)
		for _, key := range keys {
			server.Store("replica/"+key, nil)
		}
		before := server.Counts()
		if got := keysOf(t, b, "ltx/", ""); !slices.Equal(got, keys) {
			t.Errorf("%d keys", len(got))
		}
		if n := server.Counts()["LIST"] - before["LIST"]; n != 3 {
			t.Errorf("%d requests", n)
		}
		if err := b.Delete(t.Context(), keys[:1500]...); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, b, "", ""); !slices.Equal(got, keys[1500:]) {
			t.Errorf("%d keys are left", len(got))
		}
		many, one := server.Counts()["DELETES"]-before["DELETES"], server.Counts()["DELETE"]-before["DELETE"]
		if !faults.NoDeletes && (many != 2 || one != 0) || faults.NoDeletes && (many != 1 || one != 1500) {
			t.Errorf("%d and %d requests removed them", many, one)
		}
	}
}

func TestPartsOfUploads(t *testing.T) {
	for size, parts := range map[int]int{1023: 0, 1024: 1, 1025: 2, 2048: 2, 2049: 3} {
		b, server := storage(t)
		if _, err := b.PutStream(t.Context(), "snapshot", bytes.NewReader(make([]byte, size))); err != nil {
			t.Error(err)
		}
		if n := server.Counts()["PART"]; n != parts || server.Uploads() != 0 {
			t.Errorf("%d bytes: %d parts", size, n)
		}
	}
}

// TestUploadsWithFaults checks that uploads in parts survive faults or leave nothing in the bucket.
func TestUploadsWithFaults(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 300) // five parts
	for _, op := range []string{"BEGIN", "PART", "COMPLETE"} {
		for _, kind := range []objectstest.Kind{
			objectstest.Error500, objectstest.Cut, objectstest.LostAnswer, objectstest.HalfAnswer, objectstest.ErrorInside,
		} {
			b, server := storage(t)
			server.Set(objectstest.Faults{Decide: first(2, op, kind)})
			info, err := b.PutStream(t.Context(), "snapshot", bytes.NewReader(body))
			if err != nil || info.Size != int64(len(body)) || get(t, b, "snapshot", 0, 0) != string(body) {
				t.Errorf("%s, fault %d: %+v, %v", op, kind, info, err)
			}
		}
		b, server := storage(t)
		server.Set(objectstest.Faults{Decide: first(100, op, objectstest.Error500)})
		if _, err := b.PutStream(t.Context(), "snapshot", bytes.NewReader(body)); err == nil {
			t.Errorf("%s fails, and the stream doesn't", op)
		}
		if server.Uploads() != 0 || len(server.Keys()) != 0 {
			t.Errorf("%s fails: left %d uploads, %q", op, server.Uploads(), server.Keys())
		}
	}
}

// TestRefusalsAreExplained checks that errors explain the storage's response in words and contain no secret.
func TestRefusalsAreExplained(t *testing.T) {
	b, server := storage(t)
	say := func(what, want string, is error) {
		t.Helper()
		_, err := b.Put(t.Context(), "key", nil, Condition{Absent: true})
		if err == nil || !strings.Contains(err.Error(), want) || is != nil && !errors.Is(err, is) {
			t.Errorf("%s: %v", what, err)
		}
		if errors.Is(err, ErrAmbiguous) || strings.Contains(err.Error(), b.keys.held.secret) {
			t.Errorf("%s: %v", what, err)
		}
	}
	server.Set(objectstest.Faults{Ahead: time.Hour})
	say("clock", "the clock of this machine is 1h0m0s slow compared with the storage's. Correct it", fs.ErrPermission)
	server.Set(objectstest.Faults{Ahead: -20 * time.Minute})
	say("clock", "the clock of this machine is 20m0s ahead of the storage's. Correct it", fs.ErrPermission)
	server.Set(objectstest.Faults{})
	b.keys.held.secret = "wJalrXUtnFEMI"
	say("keys", "403 SignatureDoesNotMatch", fs.ErrPermission)
	b.path = "/elsewhere/"
	say("bucket", "there is no bucket", nil)

	for answer, want := range map[string]string{
		"301 eu-2": "the bucket is in the region eu-2. Set region=eu-2 in its address",
		"307 ":     "it redirects elsewhere",
		"400 ":     "put key: the storage answers 400 Echo: it was (secret) of (secret)",
	} {
		status, region, _ := strings.Cut(answer, " ")
		echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://192.0.2.1/")
			code := map[string]int{"301": 301, "307": 307, "400": 400}[status]
			if code != 400 {
				w.Header().Set("X-Amz-Bucket-Region", region)
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<Error><Code>Echo</Code><Message>it was wJalrXUtnFEMI of token</Message></Error>")
		}))
		b.host, b.keys.held.session = strings.TrimPrefix(echo.URL, "http://"), "token"
		say(answer, want, nil)
		echo.Close()
	}
}

func TestTLS(t *testing.T) {
	plain, server := storage(t)
	secure := httptest.NewUnstartedServer(server)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the server logs that a client doesn't trust it
	secure.StartTLS()
	t.Cleanup(secure.Close)
	address := strings.Replace(server.URL(), "endpoint=http", "endpoint=https", 1)
	address = strings.Replace(address, strings.TrimPrefix(plain.host, "127.0.0.1:"),
		strings.TrimPrefix(secure.URL, "https://127.0.0.1:"), 1)
	opened, err := Open(address, objectstest.Env("machine-a"))
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*s3)
	b.wait = plain.wait
	_, err = b.Put(t.Context(), "key", []byte("12"), Condition{Absent: true})
	if err == nil || !strings.Contains(err.Error(), "certificate") || errors.Is(err, ErrAmbiguous) {
		t.Errorf("a certificate of no one's: %v", err)
	}
	b.client.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	if err := Probe(t.Context(), b); err != nil {
		t.Error(err)
	}
}
