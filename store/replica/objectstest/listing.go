package objectstest

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name                  string
	EncodingType          string `xml:",omitempty"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

type listed struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

// list responds to a ListObjectsV2 request.
func (c *call) list() {
	prefix, after := c.query.Get("prefix"), c.query.Get("start-after")
	most := 1000
	if n, err := strconv.Atoi(c.query.Get("max-keys")); err == nil && n > 0 {
		most = min(n, most)
	}
	if token := c.query.Get("continuation-token"); token != "" {
		last, ok := strings.CutPrefix(token, "after/+")
		if !ok {
			c.refuse(http.StatusBadRequest, "InvalidArgument")
			return
		}
		after = last
	}
	page := listing{Name: bucket, EncodingType: c.query.Get("encoding-type")}
	for _, o := range c.s.shown(prefix, after) {
		if len(page.Contents) == most {
			page.IsTruncated = true
			page.NextContinuationToken = "after/+" + page.Contents[most-1].Key
			break
		}
		page.Contents = append(page.Contents, o)
	}
	if page.EncodingType == "url" {
		for i := range page.Contents {
			page.Contents[i].Key = url.QueryEscape(page.Contents[i].Key)
		}
	}
	c.answer(http.StatusOK, page)
}

// shown returns the objects that a listing currently shows, in order.
func (s *Server) shown(prefix, after string) (all []listed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := map[string]change{} // first change of each key that is not shown yet
	now := time.Now()
	for _, c := range s.changes {
		if _, earlier := old[c.key]; !earlier && now.Sub(c.at) < s.faults.Stale {
			old[c.key] = c
		}
	}
	show := func(key string, o object) {
		if strings.HasPrefix(key, prefix) && key > after {
			at := o.modified.UTC().Format("2006-01-02T15:04:05.000Z")
			all = append(all, listed{key, at, o.etag, len(o.body)})
		}
	}
	for key, o := range s.objects {
		if _, changed := old[key]; !changed {
			show(key, o)
		}
	}
	for key, c := range old {
		if c.was {
			show(key, c.before)
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(a.Key, b.Key) })
	return all
}
