package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"newsletterd/store/replica/objectstest"
)

// answering is a transport that responds to each request with the body that the function returns.
type answering func(*http.Request) io.Reader

// RoundTrip implements http.RoundTripper.
func (f answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(f(r)), Request: r,
	}, nil
}

// listed returns the keys that List yields if the storage responds with these texts. The last text repeats.
func listed(t testing.TB, prefix, after string, texts ...string) (keys []string, err error) {
	b, _ := storage(t)
	b.client.Transport = answering(func(*http.Request) io.Reader {
		text := texts[0]
		if len(texts) > 1 {
			texts = texts[1:]
		}
		return strings.NewReader(text)
	})
	for info, e := range b.List(t.Context(), prefix, after) {
		if e != nil {
			return keys, e
		}
		keys = append(keys, info.Key)
	}
	return keys, nil
}

func page(next string, keys ...string) string {
	text := "<ListBucketResult>"
	for _, key := range keys {
		text += "<Contents><Key>" + key + "</Key></Contents>"
	}
	if next != "" {
		text += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next + "</NextContinuationToken>"
	}
	return text + "</ListBucketResult>"
}

// TestListingsThatAreRefused checks that an invalid or unsorted response is not accepted as a listing, because a
// replica is restored from listings.
func TestListingsThatAreRefused(t *testing.T) {
	for want, texts := range map[string][]string{
		"the response isn't a listing":            {"<html></html>"},
		"didn't return keys in order":             {page("", "replica/b", "replica/a")},
		"list: the storage didn't return keys in": {page("1", "replica/b"), page("", "replica/a")},
		"keys outside the requested prefix":       {page("", "other/b")},
		"returned no continuation token":          {page("1", "replica/a"), page("1")},
		"storage returned no continuation token":  {"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"},
		"isn't a listing: an object has a negative size": {
			"<ListBucketResult><Contents><Key>replica/a</Key><Size>-1</Size></Contents></ListBucketResult>",
		},
		"isn't a listing: invalid URL escape": {
			"<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents></ListBucketResult>",
		},
	} {
		if _, err := listed(t, "", "", texts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	got, err := listed(t, "a", "a1", page("1", "replica/a2"), page("2"), page("", "replica/a2/", "replica/a3"))
	if err != nil || strings.Join(got, " ") != "a2 a3" {
		t.Errorf("an empty page, and a folder's own object: %q, %v", got, err)
	}
}

func FuzzListing(f *testing.F) {
	for _, s := range []string{
		`<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>replica/a%20b+c</Key><Size>1</Size>` +
			`<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents></ListBucketResult>`,
		page("1"), page("", "replica/a", "replica/b"), `<Error><Code>A</Code></Error>`, ``,
	} {
		f.Add(s, "a", "a")
	}
	b, err := Open("s3://bucket/replica?endpoint=https://127.0.0.1&region=a", objectstest.Env("a"))
	if err != nil {
		f.Fatal(err)
	}
	var text string
	b.(*s3).client.Transport = answering(func(*http.Request) io.Reader { return strings.NewReader(text) })
	f.Fuzz(func(t *testing.T, answer, prefix, after string) {
		text = answer
		last := after
		for info, err := range b.List(t.Context(), prefix, after) {
			if err != nil {
				return
			}
			if !strings.HasPrefix(info.Key, prefix) || checkKey(info.Key) != nil || info.Size < 0 ||
				info.Key <= last && last != "" {
				t.Fatalf("%+v after %q, of %q", info, last, prefix)
			}
			last = info.Key
		}
	})
}

// FuzzAnswers parses every kind of XML response that a storage can send.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`<DeleteResult><Error><Key>replica/a</Key><Code>AccessDenied</Code></Error></DeleteResult>`,
		`<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>`,
		`<CompleteMultipartUploadResult/>`, `<Error><Code>InternalError</Code><Message>no</Message></Error>`,
	} {
		f.Add([]byte(s), 200)
		f.Add([]byte(s), 101)
	}
	opened, err := Open("s3://bucket/replica?endpoint=https://127.0.0.1&region=a", objectstest.Env("a"))
	if err != nil {
		f.Fatal(err)
	}
	b := opened.(*s3)
	b.partSize = 1
	b.wait = func(context.Context, time.Duration) error { return nil }
	f.Fuzz(func(t *testing.T, text []byte, status int) {
		b.client.Transport = statusOf{answering(func(*http.Request) io.Reader { return bytes.NewReader(text) }), status}
		_, put := b.Put(t.Context(), "key", nil, Condition{Match: "1"})
		_, stream := b.PutStream(t.Context(), "key", strings.NewReader("12"))
		for _, err := range []error{put, stream, b.Delete(t.Context(), "a", "b")} {
			if err == nil {
				continue
			}
			if s := err.Error(); len(s) > 1000 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
				t.Fatalf("%q", s)
			}
		}
		if ok := status >= 200 && status < 300; (put == nil) != ok {
			t.Fatalf("%d: %v", status, put)
		}
	})
}

type statusOf struct {
	answering
	status int
}

// RoundTrip implements http.RoundTripper.
func (s statusOf) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.answering.RoundTrip(r)
	resp.StatusCode = s.status
	return resp, err
}

func TestAnswersAreBounded(t *testing.T) {
	b, _ := storage(t)
	b.client.Transport = answering(func(*http.Request) io.Reader { return zeros{} })
	for _, err := range b.List(t.Context(), "", "") {
		if err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("%v", err)
		}
	}
}

// zeros is an endless reader.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestStoragesThatHang checks that a request to a storage that doesn't respond times out.
func TestStoragesThatHang(t *testing.T) {
	b, server := storage(t)
	put(t, b, "key", "1")
	b.timeout = 20 * time.Millisecond
	server.Set(objectstest.Faults{Decide: first(100, "PUT", objectstest.Hang)})
	_, err := b.Put(t.Context(), "key", []byte("12"), Condition{Absent: true})
	if !errors.Is(err, ErrAmbiguous) || !errors.Is(err, errLate) {
		t.Errorf("%v", err)
	}
	if _, err = b.Put(t.Context(), "key", []byte("12"), Condition{}); !errors.Is(err, errLate) {
		t.Errorf("%v", err)
	}
	if n := server.Counts()["PUT"]; n != 1+1+maxTries {
		t.Errorf("%d requests", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	b.timeout = time.Hour
	_, err = b.Put(ctx, "key", []byte("12"), Condition{Absent: true})
	if !errors.Is(err, ErrAmbiguous) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestObjectsThatHang checks that a read times out if the storage stops sending, but not if the object is only long.
func TestObjectsThatHang(t *testing.T) {
	b, _ := storage(t)
	b.timeout, b.idle = time.Hour, 20*time.Millisecond
	slow, stop := io.Pipe()
	defer stop.Close()
	b.client.Transport = answering(func(r *http.Request) io.Reader {
		context.AfterFunc(r.Context(), func() { slow.CloseWithError(context.Cause(r.Context())) })
		return slow
	})
	go fmt.Fprint(stop, "12")
	r, err := b.Get(t.Context(), "key", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); string(text) != "12" || !errors.Is(err, errLate) {
		t.Errorf("%q, %v", text, err)
	}
}

// TestBodiesOfFailedRequests checks that a transport that still reads the body of a failed request doesn't see later
// changes to its memory.
func TestBodiesOfFailedRequests(t *testing.T) {
	b, _ := storage(t)
	var late io.Reader
	b.client.Transport = failingWith(func(r *http.Request) { late = r.Body })
	body := []byte("12345")
	if _, err := b.Put(t.Context(), "key", body, Condition{Absent: true}); !errors.Is(err, ErrAmbiguous) {
		t.Fatal(err)
	}
	copy(body, "54321")
	if text, err := io.ReadAll(late); len(text) != 0 || err == nil {
		t.Errorf("%q, %v", text, err)
	}
}

type failingWith func(*http.Request)

// RoundTrip implements http.RoundTripper.
func (f failingWith) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("fails")
}

// TestClientsAreToldApart checks that faults can be limited to one of several clients.
func TestClientsAreToldApart(t *testing.T) {
	a, server := storage(t)
	b, err := Open(server.URL(), objectstest.Env("machine-b"))
	if err != nil {
		t.Fatal(err)
	}
	server.Set(objectstest.Faults{Decide: func(r objectstest.Request) objectstest.Fault {
		if r.Client == "machine-a" && r.Key == "replica/key" {
			return objectstest.Fault{Kind: objectstest.Cut}
		}
		return objectstest.Fault{}
	}})
	if _, err := a.Put(t.Context(), "key", nil, Condition{Absent: true}); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("the machine that is cut off: %v", err)
	}
	if _, err := b.Put(t.Context(), "key", nil, Condition{Absent: true}); err != nil {
		t.Errorf("the other: %v", err)
	}
}

func TestStreamsOfManyParts(t *testing.T) {
	b, _ := storage(t)
	b.partSize = 1
	_, err := b.PutStream(t.Context(), "key", iotest.OneByteReader(strings.NewReader(strings.Repeat("1", maxParts+1))))
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
}
