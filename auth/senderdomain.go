package auth

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"newsletterd/core"
)

// LookupTXT returns the TXT records of a domain name, like (*net.Resolver).LookupTXT.
type LookupTXT func(ctx context.Context, name string) ([]string, error)

// domainLookups is the timeout for all lookups of a sender domain's records together.
const domainLookups = 8 * time.Second

// CheckDomain looks for the TXT record that verifies a sender domain, also under names where people publish it by
// mistake. It returns one of the values of core.SenderDomain.Check except core.DomainTaken. If the record is misplaced,
// foundAt is its name.
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

// servfail is package net's error message for responses such as SERVFAIL and REFUSED.
const servfail = "server misbehaving"

// absolute returns a name with a trailing dot, which disables the machine's DNS search list. Records in the machine's
// own domain would prove nothing.
func absolute(name string) string { return name + "." }
