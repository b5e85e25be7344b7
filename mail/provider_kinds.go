package mail

import (
	"crypto/rand"
	"encoding/base64"
)

// providerKinds is THE TABLE of mail providers: one line each.
var providerKinds = []*ProviderKind{
	{Name: KindGeneric, MaxBody: maxProviderEvent, Secret: genericSecret, verify: verifyGeneric},
}

var genericSecret = SecretForm{
	Help: "whsec_ and the base64 of 32 bytes", Check: checkGenericKey,
	Fresh: func() string {
		key := make([]byte, 32)
		rand.Read(key)
		return "whsec_" + base64.StdEncoding.EncodeToString(key)
	},
}
