package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
)

const adminHelp = `Works on the database with the same operations as the HTTP API, also while
the daemon runs. Anyone who can write the database file has full access.

Name a record by its ID, the first 4 or more characters of its ID, or its
name. If several records match, the command lists them and changes nothing.
If there is only one tenant, you can leave out --tenant.`

func (p *program) adminCommand() *cli.Command {
	return &cli.Command{
		Name: "admin", Usage: "manage tenants, lists, campaigns, users, clients and devices", Description: adminHelp,
		Subcommands: slices.Concat(
			inGroup(groupLetters, p.tenantCommands(), p.campaignCommands(), p.templateCommands(), p.themeCommands(),
				p.mediaCommands(), p.jobCommands()),
			inGroup(groupPeople, p.listCommands(), p.subscriberCommands(), segmentCommands(p), tagCommands(p),
				bulkCommands(p), p.importCommands(), p.suppressionCommands()),
			inGroup(groupSending, p.domainCommands(), p.dkimCommands(), mailServerCommands(p), p.providerCommands(),
				p.mailCommands()),
			inGroup(groupSignIn, p.userCommands(), p.invitationCommands(), p.setupLinkCommand(), p.clientCommands(),
				p.tokenCommands(), p.auditCommands()),
			inGroup(groupEvents, p.endpointCommands(), p.webhookClientCommands(), p.outboxCommands()),
			inGroup(groupDevices, p.deviceCommands(), p.agentCommands(), p.modelCommands()),
		),
	}
}

// actor returns the name in the audit trail of the operator who runs a command.
func actor() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "command:" + u.Username
	}
	return "command"
}

func now() core.Instant { return core.At(time.Now()) }

func stringFlag(name, usage string) cli.Flag { return &cli.StringFlag{Name: name, Usage: usage} }

func listFlag(name, usage string) cli.Flag { return &cli.StringSliceFlag{Name: name, Usage: usage} }

// boolFlag is a switch that can be set to false too, as --first-party=false.
func boolFlag(name, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Usage: usage, DisableDefaultText: true}
}

// jsonFlag takes a value in the form of the API, or @FILE that holds one.
func jsonFlag(name, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage + ", as `JSON` in the API's format, or @FILE"}
}

// givenJSON is the value of a jsonFlag, nil if it wasn't given.
func givenJSON[T any](c *cli.Context, flag string) (*T, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	text := []byte(c.String(flag))
	if name, ok := strings.CutPrefix(c.String(flag), "@"); ok {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	v, d := new(T), json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, usageError{c.Command.HelpName, fmt.Sprintf("--%s %s", flag, jsonFault(err))}
	}
	if d.More() {
		return nil, usageError{c.Command.HelpName, fmt.Sprintf("--%s has text after the JSON value. Remove it", flag)}
	}
	return v, nil
}

// jsonFault says what is wrong with a value, in no words of Go.
func jsonFault(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("has a JSON %s where %s needs another type", wrong.Value, cmp.Or(wrong.Field, "the value"))
	}
	if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "has an unknown field " + unknown
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "is incomplete JSON"
	}
	return "is invalid JSON: " + err.Error()
}

// given is the value of a flag if it was given, else nil: nil leaves a field as it is.
func given(c *cli.Context, flag string) *string {
	if !c.IsSet(flag) {
		return nil
	}
	v := c.String(flag)
	return &v
}

// givenEmail parses the address of --email. Its error is a usageError that names the flag.
func givenEmail(c *cli.Context) (core.Email, error) { return addressIn(c, "email", c.String("email")) }

// addressIn parses an address that a flag holds.
func addressIn(c *cli.Context, flag, address string) (core.Email, error) {
	email, err := core.ParseEmail(address)
	if err != nil {
		return "", usageError{c.Command.HelpName, fmt.Sprintf("--%s: %q is not a valid email address", flag, address)}
	}
	return email, nil
}

func givenBool(c *cli.Context, flag string) *bool {
	if !c.IsSet(flag) {
		return nil
	}
	v := c.Bool(flag)
	return &v
}

// givenList is a repeatable flag; an empty value alone empties the field.
func givenList(c *cli.Context, flag string) *[]string {
	if !c.IsSet(flag) {
		return nil
	}
	v := []string{}
	for _, s := range c.StringSlice(flag) {
		if s != "" {
			v = append(v, s)
		}
	}
	return &v
}

// givenWords is a flag that holds words parted by spaces, as scopes are.
func givenWords(c *cli.Context, flag string) *[]string {
	if !c.IsSet(flag) {
		return nil
	}
	v := strings.Fields(c.String(flag))
	return &v
}

// command makes a command that needs some flags and the store. What its flags refer to is resolved before it runs.
func (p *program) command(name, usage string, flags []cli.Flag, needed []string,
	do func(*cli.Context, *config.Config, *store.Store) error,
) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, Flags: flags,
		Action: func(c *cli.Context) error {
			if err := checkChoices(c); err != nil {
				return err
			}
			if err := need(c, withoutTenant(needed)...); err != nil {
				return err
			}
			return p.withStore(c, func(cfg *config.Config, s *store.Store) error {
				if err := resolve(c, s, needed); err != nil {
					return err
				}
				return do(c, cfg, s)
			})
		},
	}
}

const pageSize = 500

// pages reads all rows, page by page.
func pages[T any](key func(T) string, read func(core.Page) ([]T, error)) ([]T, error) {
	var all []T
	page := core.Page{Limit: pageSize}
	for {
		rows, err := read(page)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if len(rows) < pageSize {
			return all, nil
		}
		page.After = key(rows[len(rows)-1])
	}
}

// missing says which record isn't there.
func missing(err error, noun, id string) error {
	if errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("%s %s not found", noun, id)
	}
	return err
}

// tenantOf reads the tenant that --tenant names, so that a mistyped one is told from a record without one.
func tenantOf(c *cli.Context, s *store.Store) (ids []string, all bool, err error) {
	id := c.String("tenant")
	if id == "" {
		return nil, true, nil
	}
	if _, err := s.Tenant(c.Context, id); err != nil {
		return nil, false, missing(err, "tenant", id)
	}
	return []string{id}, false, nil
}

// knownList fails where a flag names a list that does not exist.
func knownList(c *cli.Context, s *store.Store, flag string) error {
	id := c.String(flag)
	if id == "" {
		return nil
	}
	_, err := s.List(c.Context, id)
	return missing(err, "list", id)
}

// limitFlag bounds how many records are listed; limitOf reads it.
func limitFlag(usage string, value int) cli.Flag {
	return &cli.IntFlag{Name: "limit", Usage: usage, Value: value}
}

func limitOf(c *cli.Context) (int, error) {
	n := c.Int("limit")
	if n < 1 {
		return 0, usageError{c.Command.HelpName, "--limit must be at least 1"}
	}
	return n, nil
}

// once reminds that a secret can't be shown again.
func (p *program) once(c *cli.Context, what string) {
	if !jsonWanted(c) {
		fmt.Fprintf(p.err, "Save the %s now. It is not shown again.\n", what)
	}
}

// done says what a command without a record has done.
func (p *program) done(c *cli.Context, format string, args ...any) error {
	if jsonWanted(c) {
		return p.printer(c).value(map[string]bool{"done": true})
	}
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	return err
}
