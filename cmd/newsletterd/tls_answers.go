package main

import (
	"errors"
	"io"
	"net/http"
)

// maxACMEAnswer limits how many bytes of a certificate authority's response are read. A certificate chain has a few
// thousand.
const maxACMEAnswer = 1 << 20

var errLongAnswer = errors.New("the certificate authority's response is too long")

// shortAnswers cuts off responses that are longer than those of any certificate authority, because the ACME client
// reads responses whole.
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
