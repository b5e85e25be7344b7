package objects

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSignaturesOfTheExamples tests the examples of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
func TestSignaturesOfTheExamples(t *testing.T) {
	const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	now := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		method, address, payload string
		header                   map[string]string
		signed, signature        string
	}{
		"GET Object": {
			"GET", "/test.txt", nothing,
			map[string]string{"Range": "bytes=0-9"},
			"host;range;x-amz-content-sha256;x-amz-date",
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
		"PUT Object": {
			"PUT", "/" + escape("test$file.text", true), "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"},
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
		"GET Bucket Lifecycle": {
			"GET", "/?" + canonicalQuery(map[string]string{"lifecycle": ""}), nothing, nil,
			"host;x-amz-content-sha256;x-amz-date",
			"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		},
		"Get Bucket (List Objects)": {
			"GET", "/?" + canonicalQuery(map[string]string{"prefix": "J", "max-keys": "2"}), nothing, nil,
			"host;x-amz-content-sha256;x-amz-date",
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		},
	} {
		keys := credentials{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
		s := signer{region: "us-east-1"}
		req, err := http.NewRequest(c.method, "https://examplebucket.s3.amazonaws.com"+c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range c.header {
			req.Header.Set(name, value)
		}
		s.sign(req, keys, c.payload, now)
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" +
			c.signed + ",Signature=" + c.signature
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n%s\n%s", name, got, want)
		}
	}
}

func TestSessionsAreSigned(t *testing.T) {
	s := signer{region: "us-east-1"}
	req, err := http.NewRequest(http.MethodGet, "https://bucket.example.org/", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.sign(req, credentials{id: "id", secret: "secret", session: "token"}, unsignedPayload, time.Now())
	if req.Header.Get("X-Amz-Security-Token") != "token" ||
		!strings.Contains(req.Header.Get("Authorization"), "x-amz-security-token") {
		t.Errorf("%v", req.Header)
	}
}

func TestEachDayHasItsKey(t *testing.T) {
	keys := credentials{id: "id", secret: "secret"}
	used := &signer{region: "us-east-1"}
	day := time.Date(2026, 11, 23, 23, 59, 59, 0, time.UTC)
	for range 3 {
		unused := &signer{region: "us-east-1"}
		var signed [2]string
		for i, s := range []*signer{used, unused} {
			req, err := http.NewRequest(http.MethodGet, "https://bucket.example.org/", nil)
			if err != nil {
				t.Fatal(err)
			}
			s.sign(req, keys, unsignedPayload, day)
			signed[i] = req.Header.Get("Authorization")
		}
		if signed[0] != signed[1] {
			t.Errorf("%v: %s, want %s", day, signed[0], signed[1])
		}
		day = day.Add(time.Second)
	}
}
