package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Program is one run of the command line.
type Program struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string
	// Open opens the database for a command. look is true if the command only reads the file on this machine.
	Open func(ctx context.Context, cfg *config.Config, look bool) (*store.Store, error)
}

// configFlags maps the flags that set a configuration key to the key. They override the file and the environment.
var configFlags = map[string]string{
	"database":   "database.path",
	"listen":     "server.listen",
	"public-url": "server.public_url",
	"log-level":  "log.level",
	"log-format": "log.format",
}

// Config reads the configuration, including the command's flags.
func (p *Program) Config(c *Context) (*config.Config, error) {
	src := config.Sources{Env: p.Env, Flags: map[string]string{}}
	src.File, _ = Nearest(c, "config")
	if c.Command.Name != "serve" { // otherwise serve would start the installed daemon instead of a trial in this folder
		src.Installed = config.InstalledFiles
	}
	for _, flag := range slices.Sorted(maps.Keys(configFlags)) {
		if v, ok := Nearest(c, flag); ok {
			src.Flags[configFlags[flag]] = v
		}
	}
	return config.Load(src)
}

// Nearest returns the value of a flag that may be set at several levels of the command. The innermost one wins.
func Nearest(c *Context, name string) (string, bool) {
	for _, at := range c.Lineage() {
		if at.Command != nil && slices.Contains(at.LocalFlagNames(), name) {
			return at.String(name), true
		}
	}
	return "", false
}

// Lookup returns the value of an environment variable.
func (p *Program) Lookup(name string) string {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(p.Env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// WithStore opens the database for a command, with or without a running daemon, and passes it to fn.
func (p *Program) WithStore(c *Context, fn func(*config.Config, *store.Store) error) error {
	cfg, err := p.Config(c)
	if err != nil {
		return err
	}
	look := c.Command.Name == "status" || c.Command.Name == "check"
	s, err := p.Open(c.Context, cfg, look)
	if errors.Is(err, os.ErrNotExist) && len(cfg.Searched) > 1 { // no setting names a database
		return fmt.Errorf("%w. No configuration file was found in %s. Pass --config FILE or --database FILE",
			err, strings.Join(cfg.Searched, ", "))
	}
	if err != nil {
		return err
	}
	c.Context = db.By(c.Context, Actor(), core.At(time.Now()))
	err = fn(cfg, s)
	closed := s.Close()
	if err == nil {
		err = closed
	}
	if db.IsFull(err) { // SQLite's error doesn't name the disk
		err = fmt.Errorf("%s: %w", s.Path(), err)
	}
	return err
}

// Command returns a command that requires some flags and uses the store. References in its flags are replaced with IDs
// before run is called.
func (p *Program) Command(name, usage string, flags []Flag, needed []string,
	do func(*Context, *config.Config, *store.Store) error,
) *Command {
	return &Command{
		Name: name, Usage: usage, Flags: flags,
		Action: func(c *Context) error {
			if err := CheckChoices(c); err != nil {
				return err
			}
			if err := Need(c, withoutTenant(needed)...); err != nil {
				return err
			}
			return p.WithStore(c, func(cfg *config.Config, s *store.Store) error {
				if err := Resolve(c, s, needed); err != nil {
					return err
				}
				return do(c, cfg, s)
			})
		},
	}
}

// Actor returns the audit log's name for the person who runs the command.
func Actor() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "command:" + u.Username
	}
	return "command"
}

// Once prints a reminder that a secret is shown only once.
func (p *Program) Once(c *Context, what string) {
	if !JSONWanted(c) {
		fmt.Fprintf(p.Err, "Save the %s now. It is not shown again.\n", what)
	}
}

// Done prints the result of a command that outputs no record.
func (p *Program) Done(c *Context, format string, args ...any) error {
	if JSONWanted(c) {
		return p.Printer(c).Value(map[string]bool{"done": true})
	}
	_, err := fmt.Fprintf(p.Out, format+"\n", args...)
	return err
}

// PageSize is the number of rows that commands read at a time.
const PageSize = 500

// Pages reads all rows of a list, page by page. key returns the sort key of a row.
func Pages[T any](key func(T) string, read func(core.Page) ([]T, error)) ([]T, error) {
	var all []T
	page := core.Page{Limit: PageSize}
	for {
		rows, err := read(page)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if len(rows) < PageSize {
			return all, nil
		}
		page.After = key(rows[len(rows)-1])
	}
}

// PagesOfTenant is like Pages, for the records of the tenant that --tenant names, or of all tenants.
func PagesOfTenant[T any](c *Context, s *store.Store, key func(T) string,
	read func(ctx context.Context, tenants []string, all bool, page core.Page) ([]T, error),
) ([]T, error) {
	tenants, all, err := TenantOf(c, s)
	if err != nil {
		return nil, err
	}
	return Pages(key, func(page core.Page) ([]T, error) { return read(c.Context, tenants, all, page) })
}
