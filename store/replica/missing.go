package replica

import (
	"context"
	"errors"
	"io/fs"
	"net/url"

	"newsletterd/store/replica/objects"
)

// ErrMissing is returned if the bucket is empty although the database was kept in it before: the disk is not mounted,
// or the address points to a different bucket. Anything written there meanwhile would be lost when the old contents
// come back.
var ErrMissing = errors.New("it is empty, but this database was replicated there before. Mount its disk or correct " +
	"the address. If the replica is lost, newsletterd replica begin recreates it from this machine's database")

// Name returns the identity of the replica at a URL: the URL without user and options, but with the endpoint. It
// returns an empty string if the URL is invalid.
func Name(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	q := url.Values{}
	if endpoint := u.Query().Get("endpoint"); endpoint != "" {
		q.Set("endpoint", endpoint)
	}
	u.User, u.RawQuery = nil, q.Encode()
	return u.String()
}

// Name returns the identity of this replica.
func (r *Replica) Name() string { return Name(r.opts.URL) }

// missing returns ErrMissing if the note or the database records a log that the bucket doesn't have. used reports
// whether a machine has kept a database in the bucket.
func (r *Replica) missing(ctx context.Context, n note) (used bool, err error) {
	unused, err := r.log.unused(ctx)
	if err != nil || !unused || r.opts.Begin {
		return !unused, err
	}
	knows := n.URL == r.Name() || n.Seen == r.Name()
	if !knows && r.opts.Knows != nil {
		if knows, err = r.opts.Knows(ctx); err != nil {
			return false, err
		}
	}
	if knows {
		return false, ErrMissing
	}
	return false, nil
}

// remember records in the note that the bucket is in use, even if another machine's database is in it. If the bucket is
// empty at the next start, that start then fails instead of starting over. If h is another machine, remember records
// its generation too.
func (r *Replica) remember(n *note, h holder) error {
	before := *n
	if n.URL != r.Name() {
		n.Seen = r.Name()
	}
	if h.Node != n.Node {
		n.Others = max(n.Others, h.Generation)
	}
	if *n == before {
		return nil
	}
	return writeNote(r.path, *n)
}

// Missing returns ErrMissing if the bucket at address is empty although the database at path was kept there, according
// to the note next to the database or to knows. knows is the result of Options.Knows. Missing writes nothing.
func Missing(ctx context.Context, address string, env func(string) string, path string, knows bool) error {
	r, err := New(Options{
		URL: address, Env: env, Path: path, Knows: func(context.Context) (bool, error) { return knows, nil },
	})
	if err != nil {
		return err
	}
	n, err := readNote(path)
	if err != nil {
		return err
	}
	_, err = r.missing(ctx, n)
	return err
}

// Used reports whether the bucket at address holds, or held, a database. It writes nothing.
func Used(ctx context.Context, address string, env func(string) string) (bool, error) {
	bucket, err := objects.Open(address, env)
	if err != nil {
		return false, err
	}
	unused, err := logFiles{bucket: bucket}.unused(ctx)
	return !unused, err
}

// Lacks reports whether the replica at address, with state s, lacks transactions that it had while the machine of the
// database at path served. That happens if the bucket was restored to an earlier state.
func Lacks(address, path string, s State) (bool, error) {
	n, err := readNote(path)
	return err == nil && s.Holder != nil && n.URL == Name(address) && n.Log == s.Holder.Log && n.Confirmed > s.TXID, err
}

// ServedLast reports whether the machine of the database at path was the last one to serve from the replica with state
// s, as far as it knows. Without a lock object it knows only the machines it has waited for. It returns false if there
// is no note.
func ServedLast(path string, s State) (bool, error) {
	n, err := readNote(path)
	if h := s.Holder; h != nil && (n.Node != h.Node || n.Generation < h.Generation || n.Confirmed == 0) {
		return false, err
	}
	return err == nil && n.Generation > 0 && n.Others <= n.Generation, err
}

// unused reports whether no machine has kept a database in the bucket: it has neither a lock object nor a log.
func (l logFiles) unused(ctx context.Context) (bool, error) {
	switch _, err := l.bucket.Head(ctx, lockKey); {
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	for level := range snapshotLevel + 1 {
		if level >= levels && level < snapshotLevel {
			continue
		}
		files, err := l.list(ctx, level)
		if err != nil || len(files) > 0 {
			return false, err
		}
	}
	return true, nil
}
