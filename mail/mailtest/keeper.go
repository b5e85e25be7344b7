package mailtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/emersion/go-smtp"
)

// Keeper is a complete SMTP server that writes each message to a folder as an .eml file. Two lines before the message
// contain the envelope (Return-Path and Delivered-To, as in a final delivery).
type Keeper struct {
	dir   string
	ln    net.Listener
	srv   *smtp.Server
	count atomic.Int64
	done  chan error
}

// NewKeeper listens on addr, such as "127.0.0.1:0", and creates the folder.
func NewKeeper(addr, dir string) (*Keeper, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	k := &Keeper{dir: dir, ln: ln, done: make(chan error, 1)}
	k.srv = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &keeping{keeper: k}, nil }))
	k.srv.Domain = "keeper.localhost"
	k.srv.MaxMessageBytes, k.srv.MaxRecipients = 10<<20, 1
	k.srv.ReadTimeout, k.srv.WriteTimeout = time.Minute, time.Minute
	go func() { k.done <- k.srv.Serve(ln) }()
	return k, nil
}

// Addr returns host:port.
func (k *Keeper) Addr() string { return k.ln.Addr().String() }

// Count returns the number of files written.
func (k *Keeper) Count() int64 { return k.count.Load() }

// Close stops the server and closes its connections.
func (k *Keeper) Close() error {
	err := k.srv.Close()
	if e := <-k.done; err == nil && !errors.Is(e, smtp.ErrServerClosed) {
		err = e
	}
	return err
}

// keeping is one connection.
type keeping struct {
	keeper   *Keeper
	from, to string
}

func (s *keeping) Mail(from string, _ *smtp.MailOptions) error { s.from = from; return nil }

func (s *keeping) Rcpt(to string, _ *smtp.RcptOptions) error { s.to = to; return nil }

func (s *keeping) Reset() { s.from, s.to = "", "" }

func (s *keeping) Logout() error { return nil }

// Data writes the file completely or not at all.
func (s *keeping) Data(r io.Reader) error {
	f, err := os.CreateTemp(s.keeper.dir, ".part-*")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "Return-Path: <%s>\r\nDelivered-To: <%s>\r\n", s.from, s.to)
	if err == nil {
		_, err = io.Copy(f, r)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		n := s.keeper.count.Add(1)
		err = os.Rename(f.Name(), filepath.Join(s.keeper.dir, fmt.Sprintf("%06d.eml", n)))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
