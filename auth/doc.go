// Package auth proves who is who: passwords, tokens, signing keys, signatures. It knows OAuth 2.0 and
// OpenID Connect, and no HTTP type: handlers hand it values and write down what it returns.
//
// # Rooms
//
//	provider.go     Provider and its Config; the generation that makes cached callers stale
//	grant.go        the grants of the token endpoint; passwords checked and throttled
//	refresh.go      the refresh grant: rotation, grace, replay
//	code.go authorize.go pkce.go hint.go signin.go logout.go   the code flow, and browsers that sign in and out
//	introspect.go userinfo.go discovery.go                     what relying parties and resource servers ask
//	client_auth.go  who a client is: none, Basic, post
//	scope.go        requested, cut to the client's and to what roles allow
//	token.go claims.go   access and id tokens: what they say, signing, verifying
//	bearer.go       from an access token to core.Caller; the cache of verified tokens
//	keys.go jwks.go rotate.go   signing keys, the key set, their rotation
//	password.go common.go common.txt   argon2id, one hash per core; rules; the commonest passwords
//	account.go      register, verify, forgot, reset, claim, log out; mailed tokens
//	guestbook.go    failed logins of remote addresses, in bounded memory
//	signature.go    webhooks signed and verified (timestamp, nonce, body)
//	seal.go unsubscribe.go   tokens that nothing is stored for
//	errors.go       the words of RFC 6749
//
// # Where which section is
//
//	RFC 6749  2.3.1  Basic and post             client_auth.go   TestBasicAuth, TestRefreshIsBoundToItsClient
//	          3.3    scope                      scope.go         TestGrantScopes, TestValidScopeText
//	          4.3    password                   grant.go         TestPasswordGrant, TestPasswordGrantRefusals
//	          4.4    client_credentials         grant.go         TestCallerOfClientIsHeldToItsTenant
//	          5.1    answers, never kept        token.go         handlers: TestTokenAnswersAreNotKept
//	          5.2    errors                     errors.go        testdata/api/auth/*.txt
//	          6      refresh                    refresh.go       TestRefreshRotates, TestRefreshScopes
//	RFC 6750  3.1    invalid_token              bearer.go        TestForgedAccessTokens
//	RFC 7515  4.1.11 crit                       token.go         TestCriticalHeader;  A.3: TestJWSVector
//	RFC 7517  4, 5   the key set                jwks.go          TestPublicKeyVectors, TestKeySetVerifiesTokens
//	RFC 7638  3      thumbprints as kid         keys.go          TestPublicKeyVectors
//	RFC 8725  3.1    algorithm pinned to a key  token.go         TestForgedAccessTokens
//	          3.9    audience, 3.11 typ         token.go claims.go
//	RFC 9068  2      access tokens as JWT       claims.go        TestClaims;  4: TestForgedAccessTokens
//	RFC 9106         argon2id                   password.go      TestArgon2Vector
//	RFC 9700  4.14.2 refresh tokens rotate      refresh.go       TestRefreshReuse, TestRefreshInParallel
//	OpenID Connect Core  2, 3.1.3.6  id tokens  token.go         TestClaims, TestAtHash
//
// # Deviations
//
//   - RFC 6749 section 4.3: the password grant is offered, though RFC 9700 section 2.4 says it must not be: the specification
//     asks for it. It has an endpoint of its own, /auth/login, and is not taken at the token endpoint.
//   - RFC 6749 section 5.2 knows no 429 and 503 at the token endpoint: throttled and busy requests get rate_limited
//     and temporarily_unavailable with Retry-After.
//   - RFC 9700 section 4.14.2: a used refresh token is no replay within the grace (10 s) while its successor is
//     unused. refresh_grace = 0 is strict.
//   - An Authorization header of another scheme than Basic is not taken for a try to authenticate the client:
//     browsers' helpers send a stale bearer token along with a refresh.
//
// # Decisions
//
// 2026-11-21 A verified token is cached by its SHA-256 with the caller as last read; a counter, the generation, moves
// with every commit that changes users, roles, clients or families, here or in another process, and makes all
// callers stale. Then the state is read again (one statement), the signature is not proved again. Ending a
// session so costs others a read and ends it at once. Rejected: a time to live, for it is never short enough; an
// index from session to tokens, for roles and clients would need theirs.
//
// 2026-11-21 The scopes of a caller are those of the token, cut anew to what roles and client allow: a token
// outlives the role that it was given for by nothing.
//
// 2026-11-21 A guess is counted in SQLite before the password is hashed, by the address typed in, known or not,
// and taken back when the login failed for another reason. So ten is ten, however many come at once, and the
// count tells nobody which accounts exist.
//
// 2026-11-21 The column refresh.successor holds the successor's hash in front of the sealed successor: only one that is
// unused may be given again, and only the database can say that at the moment of the rotation.
//
// 2026-11-21 A mailed token is an HMAC of its row's id, made again when the mail is rendered; the row has its
// SHA-256. Neither the queue nor a copy of the database can redeem anything.
//
// 2026-11-21 Registering for an address that exists writes, hashes and queries as much as for a new one. The mail that an
// unverified owner gets leads to a page that asks for a new password (purpose claim), so that whoever registered the
// address first keeps no password to it.
//
// 2026-11-21 The list of common passwords is of our own making: words, names, walks over the keyboard and years, the
// way that people put them together. Rejected: a list of leaked passwords, whose origin nobody can vouch for.
//
// 2026-11-21 Sealed tokens are deterministic: the nonce is HMAC-SHA256 of purpose and plaintext under a
// key of its own, cut to 24 bytes. A mail that goes out again after a crash must have the same bytes;
// random nonces would need a row per mail. Cost: equal plaintexts give equal tokens, which tells nothing
// here, for each plaintext names one mail or one request. Rejected: AES-GCM-SIV (no implementation in Go's
// standard library or x/crypto).
//
// 2026-11-21 An undo token has another purpose byte (authenticated data), not only another kind: code
// that forgets to look at the kind still cannot take one for the other.
//
// 2026-11-21 A webhook header that is given twice is refused, not joined: a proxy and we could read
// different values.
package auth
