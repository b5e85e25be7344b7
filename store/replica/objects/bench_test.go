package objects

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// BenchmarkPut puts objects like the log of a replica: to a storage in this process over loopback, including the
// storage's own work; into a folder; and without a network, which shows the cost of the client.
func BenchmarkPut(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		for _, kind := range []string{"s3", "file", "client"} {
			for _, writers := range []int{1, 16} {
				b.Run(fmt.Sprintf("%s/%dKiB/writers=%d", kind, size>>10, writers), func(b *testing.B) {
					benchmarkPut(b, kind, writers, body)
				})
			}
		}
	}
}

func benchmarkPut(b *testing.B, kind string, writers int, body []byte) {
	var bucket Bucket = inFolder(b)
	if kind != "file" {
		s, _ := storage(b)
		if bucket = s; kind == "client" {
			s.client.Transport = swallowing{}
		}
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	b.SetParallelism(writers)
	var nth atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			// Keys repeat, which keeps a storage in memory small.
			key := fmt.Sprintf("ltx/0/%016x", nth.Add(1)%256)
			if _, err := bucket.Put(b.Context(), key, body, Condition{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// swallowing is a transport that reads requests completely and responds to them.
type swallowing struct{}

// RoundTrip implements http.RoundTripper.
func (swallowing) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"1"`}}, Body: http.NoBody, Request: r,
	}, err
}

// BenchmarkGet reads whole objects.
func BenchmarkGet(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		for _, kind := range []string{"s3", "file"} {
			b.Run(fmt.Sprintf("%s/%dKiB", kind, size>>10), func(b *testing.B) {
				var bucket Bucket = inFolder(b)
				if kind == "s3" {
					bucket, _ = storage(b)
				}
				put(b, bucket, "key", strings.Repeat("1", size))
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					r, err := bucket.Get(b.Context(), "key", 0, 0)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, r); err != nil {
						b.Fatal(err)
					}
					r.Close()
				}
			})
		}
	}
}

// BenchmarkPutStream puts a snapshot of 64 MiB in parts.
func BenchmarkPutStream(b *testing.B) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	for _, kind := range []string{"s3", "file"} {
		b.Run(kind, func(b *testing.B) {
			var bucket Bucket = inFolder(b)
			if kind == "s3" {
				s, _ := storage(b)
				s.partSize = defaultPartSize
				bucket = s
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bucket.PutStream(b.Context(), "snapshot", bytes.NewReader(body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList lists 2,000 objects.
func BenchmarkList(b *testing.B) {
	for _, kind := range []string{"s3", "file"} {
		b.Run(kind, func(b *testing.B) {
			var bucket Bucket = inFolder(b)
			s, server := storage(b)
			if kind == "s3" {
				bucket = s
			}
			for i := range 2000 {
				key := fmt.Sprintf("ltx/0/%016x", i)
				if kind == "s3" {
					server.Store("replica/"+key, nil)
				} else {
					put(b, bucket, key, "")
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if n := len(keysOf(b, bucket, "ltx/0/", "")); n != 2000 {
					b.Fatal(n)
				}
			}
		})
	}
}
