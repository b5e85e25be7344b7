package web

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sync/semaphore"

	"newsletterd/core"
)

const (
	UploadMemory      = 32 * MiB // total size in bytes of all uploads' buffers
	UploadsPerUser    = 4        // concurrent uploads, each with a buffer of at most 1 MiB
	UploadsPerAddress = 8        // concurrent uploads from one origin address, over all users
)

// Uploads limits the memory and the number of concurrent uploads.
type Uploads struct {
	memory    *semaphore.Weighted
	mu        sync.Mutex
	byUser    map[string]int
	byAddress map[netip.Addr]int // by AddressKey
}

// NewUploads returns the limits for all uploads.
func NewUploads() *Uploads {
	return &Uploads{
		memory: semaphore.NewWeighted(UploadMemory), byUser: map[string]int{}, byAddress: map[netip.Addr]int{},
	}
}

// Begin reserves an upload for its user and its address. It returns an error if either has too many. The returned
// function ends the upload.
func (u *Uploads) Begin(user string, remote netip.Addr) (func(), error) {
	from := AddressKey(remote)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byUser[user] >= UploadsPerUser {
		return nil, tooManyUploads("A user", UploadsPerUser)
	}
	if from.IsValid() && u.byAddress[from] >= UploadsPerAddress {
		return nil, tooManyUploads("An IP address", UploadsPerAddress)
	}
	u.byUser[user]++
	u.byAddress[from]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.byUser[user]--; u.byUser[user] == 0 {
			delete(u.byUser, user)
		}
		if u.byAddress[from]--; u.byAddress[from] == 0 {
			delete(u.byAddress, from)
		}
	}, nil
}

func tooManyUploads(who string, n int) error {
	return (&core.Error{Kind: core.TooMany, Code: "rate_limited", RetryAfter: 5}).
		Sayf("%s can upload at most %d files at the same time. Wait until one is finished.", who, n)
}

// Grow returns a function that reserves memory for n more bytes of an upload, or releases memory if n is negative.
func (u *Uploads) Grow(ctx context.Context) func(n int) error {
	return func(n int) error {
		if n < 0 {
			u.memory.Release(int64(-n))
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, BodyBudgetWait)
		defer cancel()
		if err := u.memory.Acquire(ctx, int64(n)); err != nil {
			return ErrBusy.With(fmt.Errorf("wait for upload memory: %w", err))
		}
		return nil
	}
}
