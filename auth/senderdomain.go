package auth

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"newsletterd/core"
)

// LookupTXT returns the texts of the TXT records of a name, as (*net.Resolver).LookupTXT does.
type LookupTXT func(ctx context.Context, name string) ([]string, error)

// domainLookups is how long the look at a sender domain's records may take in all.
const domainLookups = 8 * time.Second

// CheckDomain looks for the TXT record that proves a sender domain, and where people put it by mistake. It returns one
// of the words of core.SenderDomain.Check but core.DomainTaken, and the name of a record that is misplaced.
func CheckDomain(ctx context.Context, lookup LookupTXT, d core.SenderDomain) (result, foundAt string) {
	ctx, cancel := context.WithTimeout(ctx, domainLookups)
	defer cancel()
	texts, err := lookup(ctx, absolute(d.Record().Name))
	fault, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case slices.ContainsFunc(texts, d.Proves):
		return core.DomainFound, ""
	case err == nil:
		result = core.DomainOtherValue
	case isDNS && fault.IsNotFound:
		result = core.DomainMissing
	case isDNS && fault.Err == servfail:
		return core.DomainFault, ""
	default:
		return core.DomainTimeout, ""
	}
	for _, name := range d.Misplaced() {
		if texts, err := lookup(ctx, absolute(name)); err == nil && slices.ContainsFunc(texts, d.Proves) {
			return core.DomainMisplaced, name
		}
	}
	return result, ""
}

// servfail is how net names an answer that is neither records nor "no such name": SERVFAIL, REFUSED.
const servfail = "server misbehaving"

// absolute returns a name that no search list of the machine is tried with: records of its own domain prove nothing.
func absolute(name string) string { return name + "." }
