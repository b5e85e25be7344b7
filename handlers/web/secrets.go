package web

import (
	"time"

	"newsletterd/core"
)

// SecretOverlap sets how long the previous secret stays valid. If Seconds is nil, the endpoint's default applies.
type SecretOverlap struct {
	Seconds *int `json:"overlap_seconds" min:"0" max:"2592000" about:"Seconds for which the previous secret also works; default 0 for OAuth clients and 86,400 for webhook endpoints"`
}

// CheckInput returns an error if the overlap is negative or too long.
func (in *SecretOverlap) CheckInput() error {
	if in.Seconds != nil && (*in.Seconds < 0 || *in.Seconds > core.MaxSecretOverlap) {
		return core.Invalidf("overlap_seconds", "overlap_seconds must be from 0 to %d.", core.MaxSecretOverlap)
	}
	return nil
}

// Or returns the overlap, or d if Seconds is nil.
func (in *SecretOverlap) Or(d time.Duration) time.Duration {
	if in.Seconds == nil {
		return d
	}
	return time.Duration(*in.Seconds) * time.Second
}
