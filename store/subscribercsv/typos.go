package subscribercsv

import (
	"strings"

	"newsletterd/core"
)

// maxTypos is the maximum number of domains in Reader.Typos.
const maxTypos = 50

// noteTypo counts the domain of an address if it is likely a typo.
func (c *Reader) noteTypo(email core.Email) {
	domain := string(email[strings.LastIndexByte(string(email), '@')+1:])
	likely := core.LikelyDomain(domain)
	if likely == "" {
		return
	}
	domain = strings.ToLower(domain)
	for i := range c.Typos {
		if c.Typos[i].Domain == domain {
			c.Typos[i].Rows++
			return
		}
	}
	if len(c.Typos) < maxTypos {
		c.Typos = append(c.Typos, core.DomainTypo{Domain: strings.Clone(domain), Likely: likely, Rows: 1})
	}
}
