package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// refFlag is a flag that names a record: by its id, by the beginning of an id, or by a name that no other record has.
// Before a command runs, resolve replaces the value by the whole id.
type refFlag struct {
	*cli.StringFlag
	noun people.Noun
	// byName: the command wants the name of the record, and takes one that does not exist yet.
	byName bool
	// also is a word that stays as it is; no record is looked for. Empty: none.
	also string
	// whole reports whether the only tenant is meant where the flag is absent. Nil: where the command needs the flag.
	whole func(*cli.Context) bool
}

// referenceFlag makes a refFlag. noun is its kind of record.
func referenceFlag(name string, noun people.Noun, usage string, aliases ...string) refFlag {
	return refFlag{StringFlag: &cli.StringFlag{Name: name, Aliases: aliases, Usage: usage}, noun: noun}
}

// idFlag names the record of a command.
func idFlag(noun people.Noun) cli.Flag {
	return referenceFlag("id", noun, "`ID` of the "+string(noun)+" (or its first characters), or its name")
}

// tenantFlag names a tenant.
func tenantFlag(usage string) refFlag { return referenceFlag("tenant", people.NounTenant, usage) }

// choiceFlag is a flag that takes one of some words.
type choiceFlag struct {
	*cli.StringFlag
	words []string
}

// oneOfFlag makes a choiceFlag; an empty word among words allows the empty value.
func oneOfFlag(name, usage string, words ...string) choiceFlag {
	return choiceFlag{&cli.StringFlag{Name: name, Usage: usage}, words}
}

// byDefault is the flag with a value where none is given.
func (f choiceFlag) byDefault(value string) choiceFlag {
	f.Value = value
	return f
}

// optional are words and the empty value.
func optional(words []string) []string { return append([]string{""}, words...) }

// choiceListFlag is a repeatable flag that takes some words.
type choiceListFlag struct {
	*cli.StringSliceFlag
	words []string
}

// checkChoices returns a usage error if a flag has a value that it doesn't accept. It also rejects an empty segment,
// which would mean the whole list.
func checkChoices(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		var name string
		var words, values []string
		switch f := f.(type) {
		case choiceFlag:
			name, words, values = f.Name, f.words, []string{c.String(f.Name)}
		case choiceListFlag:
			name, words, values = f.Name, append([]string{""}, f.words...), c.StringSlice(f.Name)
		case refFlag:
			if f.noun == people.NounSegment && c.IsSet(f.Name) && strings.TrimSpace(c.String(f.Name)) == "" {
				return usageError{c.Command.HelpName, "--" + f.Name +
					" must not be empty. Name a segment, or leave it out"}
			}
		}
		if name == "" || !c.IsSet(name) {
			continue
		}
		for _, v := range values {
			if !slices.Contains(words, v) {
				known := slices.DeleteFunc(slices.Clone(words), func(s string) bool { return s == "" })
				return usageError{c.Command.HelpName, fmt.Sprintf("--%s: %q is not valid. Use one of %s", name, v,
					strings.Join(known, ", "))}
			}
		}
	}
	return nil
}

// maxCandidates bounds how many records are listed where a reference names several.
const maxCandidates = 10

// resolve replaces what the flags of a command refer to by ids, and sets --tenant to the only tenant where the
// command needs one and none is given. Tenants come first and lists second: they narrow what the other flags mean.
func resolve(c *cli.Context, s *store.Store, needed []string) error {
	var flags []refFlag
	for _, f := range c.Command.Flags {
		if ref, ok := f.(refFlag); ok {
			flags = append(flags, ref)
		}
	}
	slices.SortStableFunc(flags, func(a, b refFlag) int { return rank(a.noun) - rank(b.noun) })
	tenant := ""
	for _, f := range flags {
		word := strings.TrimSpace(c.String(f.Name))
		var ref people.Reference
		var err error
		switch {
		case f.also != "" && strings.EqualFold(word, f.also):
			continue
		case word != "":
			ref, err = f.find(c, s, word, tenant)
		case f.noun == people.NounTenant && (slices.Contains(needed, f.Name) || f.whole != nil && f.whole(c)):
			ref, err = onlyTenant(c, s)
		default:
			continue
		}
		if err != nil {
			return err
		}
		switch f.noun {
		case people.NounTenant:
			tenant = ref.ID
		case people.NounList:
			tenant = ref.TenantID
		}
		value := ref.ID
		if f.byName {
			value = ref.Name
		}
		if err := c.Set(f.Name, value); err != nil {
			return err
		}
	}
	return nil
}

// rank orders nouns by what they narrow.
func rank(noun people.Noun) int {
	switch noun {
	case people.NounTenant:
		return 0
	case people.NounList:
		return 1
	}
	return 2
}

// find looks for the record that word names. A whole id is taken as it is, so that the command itself says whether
// there is such a record.
func (f refFlag) find(c *cli.Context, s *store.Store, word, tenant string) (people.Reference, error) {
	if id, ok := core.ParseID(word); ok && !f.byName {
		ref := people.Reference{ID: id}
		if f.noun == people.NounList {
			l, err := s.List(c.Context, id)
			if err != nil && core.KindOf(err) != core.NotFound {
				return ref, err
			}
			ref.TenantID = l.TenantID
		}
		return ref, nil
	}
	if f.noun == people.NounUser && strings.Contains(word, "@") {
		return people.Reference{ID: word}, nil
	}
	if f.noun == people.NounEvent && onlyDigits(word) { // the number of a row of the outbox, as its list prints it
		return people.Reference{ID: word}, nil
	}
	found, err := s.References(c.Context, f.noun, word, tenant, maxCandidates+1)
	switch {
	case err != nil:
		return people.Reference{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return people.Reference{}, fmt.Errorf("--%s: use the full ID; %q matches %s", f.Name, word,
			candidates(f.noun, found))
	case f.byName:
		return people.Reference{Name: word}, nil
	}
	return people.Reference{}, missing(core.ErrNotFound, string(f.noun), word)
}

// onlyTenant returns the only tenant. Where there is another number of them, the flag is needed.
func onlyTenant(c *cli.Context, s *store.Store) (people.Reference, error) {
	found, err := s.References(c.Context, people.NounTenant, "", "", maxCandidates+1)
	switch {
	case err != nil:
		return people.Reference{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return people.Reference{}, usageError{
			c.Command.HelpName,
			"--tenant is missing, and there is no tenant. Create one with newsletterd admin tenant create",
		}
	}
	return people.Reference{}, usageError{c.Command.HelpName, "--tenant is missing. Choose one of " +
		candidates(people.NounTenant, found)}
}

// candidates lists records for a person to choose from, each in a line of its own.
func candidates(noun people.Noun, found []people.Reference) string {
	more := ""
	if len(found) > maxCandidates {
		found, more = found[:maxCandidates], "\n  …"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", counted(len(found), string(noun)))
	if more != "" {
		b.Reset()
		fmt.Fprintf(&b, "more than %s:", counted(len(found), string(noun)))
	}
	for _, r := range found {
		b.WriteString("\n  " + r.ID)
		if r.Name != "" {
			b.WriteString("  " + printable(r.Name))
		}
		if r.TenantID != "" {
			b.WriteString("  (tenant " + r.TenantID + ")")
		}
	}
	return b.String() + more
}

// withoutTenant are the flags of needed that resolve can't set.
func withoutTenant(needed []string) []string {
	return slices.DeleteFunc(slices.Clone(needed), func(name string) bool { return name == "tenant" })
}

func onlyDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
