package replica

import (
	"context"
	"errors"
	"io/fs"
	"net/url"

	"newsletterd/store/replica/objects"
)

// ErrMissing is returned where a bucket is empty in which the database was kept before: a disk that is not mounted, or
// another bucket than before. What would be kept there meanwhile would give way to what it had.
var ErrMissing = errors.New("it is empty, but this database was kept there before. Mount its disk or correct the " +
	"address. If it is lost, newsletterd replica begin starts it again from this machine's database")

// Name returns what tells the replica at an address from others: the address without what only says how it is reached.
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

// Name returns what tells this replica from others.
func (r *Replica) Name() string { return Name(r.opts.URL) }

// missing returns ErrMissing where the note or the database knows of a log that is not there, and else whether a
// machine has kept a database in the bucket.
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

// remember notes that a database is kept in the bucket, though perhaps not the one of this machine, so that the next
// start refuses to begin anew where it is empty; and which generation h has, where h is another machine.
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

// Missing returns ErrMissing where the note next to the database file at path, or knows, which is what Options.Knows
// would report, says that it was kept at url, and nothing is there. It writes nothing.
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

// Used reports whether something is kept in the bucket at address, or was. It writes nothing.
func Used(ctx context.Context, address string, env func(string) string) (bool, error) {
	bucket, err := objects.Open(address, env)
	if err != nil {
		return false, err
	}
	unused, err := logFiles{bucket: bucket}.unused(ctx)
	return !unused, err
}

// Lacks reports whether the replica at address, which holds s, lacks something that it had while the machine of the
// database file at path served: it was brought back to an earlier state.
func Lacks(address, path string, s State) (bool, error) {
	n, err := readNote(path)
	return err == nil && s.Holder != nil && n.URL == Name(address) && n.Log == s.Holder.Log && n.Confirmed > s.TXID, err
}

// ServedLast reports whether the machine of the database file at path has served last of those that kept it in the
// replica that s is of, as far as it knows: where there is no lock object it knows of those that it has waited for. One
// that has no note does not know.
func ServedLast(path string, s State) (bool, error) {
	n, err := readNote(path)
	if h := s.Holder; h != nil && (n.Node != h.Node || n.Generation < h.Generation || n.Confirmed == 0) {
		return false, err
	}
	return err == nil && n.Generation > 0 && n.Others <= n.Generation, err
}

// unused reports whether no machine has kept a database in the bucket: there is no lock object, and no log.
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
