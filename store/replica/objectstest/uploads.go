package objectstest

import (
	"bytes"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
)

// part is a part of an upload.
type part struct {
	body []byte
	sum  [md5.Size]byte
}

// upload is an object being uploaded in parts.
type upload struct {
	key   string
	parts map[int]part
}

func (c *call) begin() {
	id := rand.Text()
	c.s.mu.Lock()
	c.s.uploads[id] = &upload{c.key, map[int]part{}}
	c.s.mu.Unlock()
	c.answer(http.StatusOK, struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadID string   `xml:"UploadId"`
	}{UploadID: id})
}

func (c *call) part() {
	n, err := strconv.Atoi(c.query.Get("partNumber"))
	c.s.mu.Lock()
	u := c.s.uploads[c.query.Get("uploadId")]
	known := u != nil && u.key == c.key
	if known && err == nil {
		u.parts[n] = part{c.body, c.sum}
	}
	c.s.mu.Unlock()
	switch {
	case err != nil || n < 1 || n > 10_000:
		c.refuse(http.StatusBadRequest, "InvalidArgument")
	case !known:
		c.refuse(http.StatusNotFound, "NoSuchUpload")
	default:
		c.w.Header().Set("ETag", etagOf(c.sum))
		c.answer(http.StatusOK, nil)
	}
}

func (c *call) complete() {
	if c.kind == ErrorInside {
		c.answer(http.StatusOK, fault{Code: "InternalError"})
		return
	}
	var named struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	err := xml.Unmarshal(c.body, &named)
	id := c.query.Get("uploadId")
	c.s.mu.Lock()
	u := c.s.uploads[id]
	status, code := http.StatusOK, ""
	switch {
	case u == nil || u.key != c.key:
		status, code = http.StatusNotFound, "NoSuchUpload"
	case err != nil || len(named.Part) == 0:
		status, code = http.StatusBadRequest, "MalformedXML"
	default:
		var whole bytes.Buffer
		sums := md5.New()
		for i, p := range named.Part {
			got, is := u.parts[p.PartNumber]
			if !is || etagOf(got.sum) != p.ETag || i > 0 && p.PartNumber <= named.Part[i-1].PartNumber {
				status, code = http.StatusBadRequest, "InvalidPart"
				break
			}
			sums.Write(got.sum[:])
			whole.Write(got.body)
		}
		if code == "" {
			etag := fmt.Sprintf("\"%s-%d\"", hex.EncodeToString(sums.Sum(nil)), len(named.Part))
			c.s.put(c.key, whole.Bytes(), etag)
			delete(c.s.uploads, id)
		}
	}
	c.s.mu.Unlock()
	if code != "" {
		c.refuse(status, code)
		return
	}
	c.answer(http.StatusOK, struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		Key     string
	}{Key: c.key})
}

// etagOf returns the ETag for content with this MD5.
func etagOf(sum [md5.Size]byte) string { return `"` + hex.EncodeToString(sum[:]) + `"` }
