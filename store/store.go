package store

import (
	"context"

	"newsletterd/core"
)

// Store is the open file with all that is kept in it. Its methods may be called from any goroutine.
type Store struct {
	*DB
	gathered   *gathered
	chunkReads chan struct{} // places of those who read chunks of files
	lists      recordCache[*core.ListWithTenant]
	senders    recordCache[*core.WebhookSender]
	providers  recordCache[*core.ProviderSecrets]
	domains    recordCache[map[string]bool]            // of all active tenants, under one key
	endpoints  recordCache[map[string][]core.Endpoint] // the active ones by tenant, under one key
}

// Open opens the file, makes it with mode 0600 if it is missing, and refuses it where it is not ours, newer, older
// (without Migrate), served by another daemon (Daemon mode), or an old copy next to a newer -wal.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{DB: New(o), chunkReads: make(chan struct{}, chunkReads)}
	s.gathered = &gathered{store: s, counts: counting{}, all: counting{}, queues: map[string]*endpointQueue{}}
	s.Keep("tenants", s.gathered)
	s.Keep("campaigns", &openJobs{left: map[int64]int64{}})
	s.OnKick(TopicRecords, s.lists.drop)
	s.OnKick(TopicRecords, s.senders.drop)
	s.OnKick(TopicRecords, s.providers.drop)
	s.OnKick(TopicRecords, s.domains.drop)
	s.OnKick(TopicRecords, s.endpoints.drop)
	err := s.DB.Open(ctx, func(ctx context.Context) error {
		if s.Options().Mode == Daemon {
			return s.dropUploads(ctx)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}
