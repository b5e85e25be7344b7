package main

import (
	"errors"
	"io"
	"net/http"
)

// maxACMEAnswer is the maximum number of bytes read from a certificate authority's response. A certificate chain has a
// few thousand bytes.
const maxACMEAnswer = 1 << 20

var errLongAnswer = errors.New("the certificate authority's response is too long")

// shortAnswers is a transport that truncates responses longer than maxACMEAnswer, because the ACME client reads whole
// responses into memory.
type shortAnswers struct{ http.RoundTripper }

func (s shortAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = &shortAnswer{res.Body, maxACMEAnswer}
	}
	return res, err
}

type shortAnswer struct {
	io.ReadCloser
	left int
}

func (s *shortAnswer) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, errLongAnswer
	}
	n, err := s.ReadCloser.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}
