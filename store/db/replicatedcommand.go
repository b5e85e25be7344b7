package db

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"newsletterd/core"
)

// A command that changes something next to a daemon increments a number in the database as its last change. The
// daemon notices the other process's commit and waits until its replica has all of it. Then it writes the number into
// a file next to the database, which the command waits for.

// commandMark is the name of the row in the table mark that holds the command number.
const commandMark = "commands"

// commandWait is the maximum time that a command waits for the daemon's replica.
const commandWait = 5 * time.Second

func (s *DB) answerPath() string { return s.path + ".acknowledged" }

// DaemonRuns reports whether a daemon serves the database file at path.
func DaemonRuns(path string) bool {
	probe := flock.New(path+".lock", flock.SetFlag(os.O_RDONLY))
	free, err := probe.TryRLock()
	if free || err != nil {
		_ = probe.Close()
		return false
	}
	return true
}

// DaemonWaits reports whether a daemon has locked the database file at path but does not serve it yet. The daemon may
// be waiting for the lease of its replica, restoring the database from the replica, or starting. A command's changes to
// the file could be lost during that time.
func DaemonWaits(path string) bool {
	if !DaemonRuns(path) {
		return false
	}
	b, err := os.ReadFile(path + ".lock")
	return err != nil || string(b) != serving
}

var errNothingAsked = errors.New("nothing to request")

// askDaemon increments the command number and returns it. It returns 0 if the command has nothing to wait for, and
// ErrBehind if it can't write the number.
func (s *DB) askDaemon() (number int64, err error) {
	if !s.opts.DaemonReplica || s.writer == nil {
		return 0, nil
	}
	err = s.Update(context.Background(), func(tx *Tx) (err error) {
		if s.writer.changedAt.IsZero() {
			return errNothingAsked
		}
		number, err = tx.Number("INSERT INTO mark (name, value) VALUES ('" + commandMark + "', 1) ON CONFLICT (name) " +
			"DO UPDATE SET value = value + 1 RETURNING value")
		return err
	})
	if errors.Is(err, errNothingAsked) {
		return 0, nil
	}
	if err != nil {
		s.log.Warn("the running server can't be asked about the replica", slog.Any("error", err))
		return 0, ErrBehind
	}
	return number, nil
}

// ErrBehind is returned by Close if a command has changed something that the replica doesn't have yet.
var ErrBehind = errors.New("the change is saved on this machine, but the replica doesn't have it yet. It is copied " +
	"once the replica is reachable, and lost if this machine fails or another one takes over before that. Don't " +
	"repeat the change")

// awaitReplica waits until this command's own replica has its changes. If that takes too long, it returns ErrBehind.
func (s *DB) awaitReplica() error {
	if s.opts.Replica == nil || s.opts.Mode != Command || s.writer == nil || !s.writer.replica.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandWait)
	defer cancel()
	if err := s.opts.Replica.Wait(ctx); err != nil {
		s.log.Warn("the replica doesn't accept changes", slog.Any("error", err))
		return ErrBehind
	}
	return nil
}

// awaitDaemon waits until the daemon's replica has this command's changes. If that takes too long, it returns
// ErrBehind.
func (s *DB) awaitDaemon(number int64) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(commandWait); time.Now().Before(deadline); <-tick.C {
		b, err := os.ReadFile(s.answerPath())
		n, parseErr := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err == nil && parseErr == nil && n >= number {
			return nil
		}
	}
	return ErrBehind
}

// answerCommands acknowledges the number of the last command that changed something, once the replica has the change.
func (w *writer) answerCommands() error {
	r := w.store.opts.Replica
	if r == nil || w.store.opts.Mode != Daemon || !w.replica.Load() {
		return nil
	}
	number, err := w.tx.Number("SELECT coalesce(max(value), 0) FROM mark WHERE name = '" + commandMark + "'")
	if err != nil || number == w.commands {
		return err
	}
	w.commands = number
	r.After(func(err error) {
		if err == nil {
			go w.store.writeAnswer(number)
		}
	})
	return nil
}

// writeAnswer acknowledges all commands up to number. It never lowers the acknowledged number.
func (s *DB) writeAnswer(number int64) {
	s.answers.Lock()
	defer s.answers.Unlock()
	if s.closed.Load() || number <= s.answered {
		return
	}
	tmp := s.answerPath() + ".tmp"
	err := os.WriteFile(tmp, strconv.AppendInt(nil, number, 10), 0o600)
	if err == nil {
		err = os.Rename(tmp, s.answerPath())
	}
	if err != nil {
		s.log.Warn("the replica's progress can't be reported to commands", slog.Any("error", err))
		return
	}
	s.answered = number
}

// forgetAnswers removes acknowledgments that belong to an earlier database at this path.
func (s *DB) forgetAnswers() error {
	if err := os.Remove(s.answerPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// MayWrite returns Options.ReadOnly, the error that keeps this process from writing, or nil.
func (s *DB) MayWrite() error {
	if s.opts.ReadOnly == nil {
		return nil
	}
	return core.ErrStorage.With(s.opts.ReadOnly)
}
