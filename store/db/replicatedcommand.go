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

// A command that changes something next to a daemon counts it in the database, as its last change. The daemon sees that
// another process has committed, waits until its replica has all of it, and writes the number into a file next to the
// database, which the command waits for.

// commandMark is the name of the number in the table mark.
const commandMark = "commands"

// commandWait is how long a command waits for the daemon's replica.
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

// DaemonWaits reports whether a daemon has locked the database file at path and does not serve it yet: it waits for the
// lease of its replica, brings the database from there, or starts. What a command changed in the file could be lost.
func DaemonWaits(path string) bool {
	if !DaemonRuns(path) {
		return false
	}
	b, err := os.ReadFile(path + ".lock")
	return err != nil || string(b) != serving
}

var errNothingAsked = errors.New("nothing to request")

// askDaemon counts what this command has changed and returns the number; 0: there is nothing to wait for. It returns
// ErrBehind where the daemon can't be asked.
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
		s.log.Warn("the daemon can't be asked about the replica", slog.Any("error", err))
		return 0, ErrBehind
	}
	return number, nil
}

// ErrBehind is returned by Close where a command has changed something that the replica has not got yet.
var ErrBehind = errors.New("the change is saved on this machine but not in the replica; it is copied when the " +
	"replica is reachable, and lost if this machine fails or another one takes over before that. Don't repeat the " +
	"change")

// awaitReplica returns when the replica that this command keeps has what it has changed, or ErrBehind.
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

// awaitDaemon returns when the daemon's replica has what this command has changed, or ErrBehind.
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

// answerCommands has the number of the last command that has changed something written down, once the replica has it.
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

// writeAnswer tells commands that the replica has what they have changed up to a number. A larger one stays.
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
		s.log.Warn("commands can't be told of the replica", slog.Any("error", err))
		return
	}
	s.answered = number
}

// forgetAnswers removes what was written for the database that was at this place before.
func (s *DB) forgetAnswers() error {
	if err := os.Remove(s.answerPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// MayWrite returns Options.ReadOnly: why no operation of this process may write; else nil.
func (s *DB) MayWrite() error {
	if s.opts.ReadOnly == nil {
		return nil
	}
	return core.ErrStorage.With(s.opts.ReadOnly)
}
