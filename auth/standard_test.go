package auth

import "testing"

// TestSignStandard compares with the values of another implementation: HMAC-SHA256 over id, timestamp and body, as
// Standard Webhooks 1.0 requires.
func TestSignStandard(t *testing.T) {
	key, err := ParseSecret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	if got := SignStandard(key, "msg_1", 1700000000,
		[]byte(`{"a":1}`)); got != "v1,AMaOha7DUT/0J0JMycRuYOBSvbx3WtwLd2khXXbaVj4=" {
		t.Errorf("%s", got)
	}
}
