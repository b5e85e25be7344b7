package pictures

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"newsletterd/core"
)

const (
	unreachableMax = 3                        // failed images of a host before its others fail, too
	turnMemory     = 32 << 20 / tenantsAtOnce // bytes of images before they are decoded
)

// shared holds what the images in a turn share: memory, and knowledge about unreachable hosts. No turn waits for
// another's memory, so a slow server delays only the tenant whose images it has.
type shared struct {
	memory *semaphore.Weighted
	most   int64 // bytes of an image

	mu      sync.Mutex
	lost    map[string]int // images that could not be fetched because their host doesn't respond, by host
	storage bool           // an image exceeded the tenant's storage limit
}

func newShared(most int64) *shared {
	return &shared{memory: semaphore.NewWeighted(max(turnMemory, most)), most: most, lost: map[string]int{}}
}

func (s *shared) down(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost[host] >= unreachableMax
}

func (s *shared) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storage
}

// note remembers that an image could not be copied if the reason is an unreachable host or the tenant's storage limit.
func (s *shared) note(host string, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch reason {
	case core.PictureUnreachable:
		s.lost[host]++
	case core.PictureStorageFull:
		s.storage = true
	}
}

// memory is the memory taken for the data of one image.
type memory struct {
	of   *shared
	held int64
}

// take waits until memory for n bytes is available. If n is negative, it waits for enough memory for the largest
// possible image. It returns the number of bytes taken.
func (m *memory) take(ctx context.Context, n int64) (int64, error) {
	if n < 0 || n > m.of.most {
		n = m.of.most
	}
	err := m.of.memory.Acquire(ctx, n)
	if err == nil {
		m.held = n
	}
	return n, err
}

func (m *memory) release() {
	m.of.memory.Release(m.held)
	m.held = 0
}
