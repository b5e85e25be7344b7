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
//	client_auth.go clients.go   who a client is: none, Basic, post; clients remembered
//	origin.go       which sites' scripts may call the endpoints of relying parties
//	scope.go        requested, cut to the client's and to what roles allow
//	token.go claims.go   access and id tokens: what they say, signing, verifying
//	bearer.go       from an access token to core.Caller; the cache of verified tokens
//	keys.go jwks.go rotate.go   signing keys, the key set, their rotation
//	password.go common.go common.txt   argon2id, one hash per core; rules; the commonest passwords
//	account.go emailchange.go   register, verify, forgot, reset, claim, another address, log out; mailed tokens
//	guestbook.go    failed logins of remote addresses, in bounded memory
//	signature.go    webhooks signed and verified (timestamp, nonce, body)
//	seal.go unsubscribe.go view.go   tokens that nothing is stored for
//	errors.go       the words of RFC 6749
//
// # Where which section is
//
// What MUST be, by the section that says so, with the tests that hold it. Tests without a name in front are of this package;
// "cmd" and "handlers" stand for theirs, a path for a scenario of testdata/api. TestDocNamesTests looks each of them up.
//
//	RFC 6749  2.3.1   Basic and post, not both          client_auth.go  TestBasicAuth, TestRefreshIsBoundToItsClient
//	          3.1     parameters once, others ignored   authorize.go    TestParseAuthorization
//	          3.1.2   redirect URI absolute, registered authorize.go    TestParseAuthorization, FuzzParseAuthorization
//	          3.1.2.4 never redirect to one that isn't  authorize.go    TestParseAuthorization, oidc/authorize-errors.txt
//	          3.3     scope; told when it differs       scope.go        TestGrantScopes, TestValidScopeText
//	          4.1.2   code short-lived, used once       code.go         TestCodeReuseRevokes, TestCodeInParallelIsGoodOnce
//	          4.1.2.1 errors and state back             authorize.go    TestAuthorizeAnswers, oidc/authorize-errors.txt
//	          4.1.3   code bound to client and URI      code.go         TestCodeIsBound
//	          4.3     password                          grant.go        TestPasswordGrant, TestPasswordGrantRefusals
//	          4.4     client_credentials                grant.go        TestCallerOfClientIsHeldToItsTenant
//	          5.1     answers, never kept               token.go        handlers TestTokenAnswersAreNotKept, cmd TestParallelRefreshes
//	          5.2     errors                            errors.go       auth/login.txt, oidc/flow.txt
//	          6       refresh bound to its client       refresh.go      TestRefreshRotates, TestRefreshScopes, TestRefreshIsBoundToItsClient
//	          10.10   tokens can't be guessed           core/token.go   256 random bits
//	          10.12   cross-site requests               handlers        oidc/pages.txt
//	          10.13   no framing                        handlers        handlers TestPageHeaders
//	          10.15   no open redirect                  authorize.go    TestParseAuthorization, handlers TestLoginLeadsNowhereElse
//	RFC 6750  2       header, or form, not both         handlers        oidc/provider.txt
//	          3, 3.1  challenges                        handlers        cmd TestForgedTokens, TestForgedAccessTokens
//	RFC 7009  2.1     own client's tokens only          introspect.go   TestRevokeAndIntrospect
//	          2.2     unknown tokens are no error       introspect.go   TestRevokeAndIntrospect
//	RFC 7515  4.1.11  crit                              token.go        TestCriticalHeader;  A.3: TestJWSVector
//	RFC 7517  4, 5    the key set                       jwks.go         TestPublicKeyVectors, TestKeySetVerifiesTokens
//	RFC 7636  4.1-4.3 verifier and challenge            pkce.go         TestVerifier, TestParseAuthorization
//	          4.4.1   challenge missing: invalid_request authorize.go   TestParseAuthorization
//	          4.6     compared at the token endpoint    pkce.go         TestVerifier, TestCodeIsBound
//	RFC 7638  3       thumbprints as kid                keys.go         TestPublicKeyVectors
//	RFC 7662  2.1     callers authenticate              introspect.go   TestRevokeAndIntrospect
//	          2.2     active, and no more where false   introspect.go   TestRevokeAndIntrospect, TestIntrospectionStaysWithinTheTenant
//	RFC 8252  7.3     any port on loopback              authorize.go    TestParseAuthorization, TestRegisteredLoopbackPortIsForPublicClients
//	RFC 8414  2, 3    metadata, and where               discovery.go    TestDiscoveryNamesOnlyTheIssuer, oidc/provider.txt
//	RFC 8725  3.1     algorithm pinned to a key         token.go        TestForgedAccessTokens
//	          3.2     deterministic ECDSA               keys.go         TestSign
//	          3.8, 3.9, 3.11  issuer, audience, typ     token.go        TestForgedAccessTokens, TestClaims
//	RFC 9068  2, 4    access tokens as JWT              claims.go       TestClaims, TestForgedAccessTokens
//	RFC 9106          argon2id                          password.go     TestArgon2Vector
//	RFC 9207  2       iss in every answer               code.go         TestCodeGrant, TestAuthorizeAnswers
//	RFC 9700  2.1     exact redirect URIs               authorize.go    TestParseAuthorization
//	          2.1.1   PKCE, S256                        authorize.go    TestParseAuthorization, TestCodeIsBound
//	          4.8.2   no verifier without a challenge   pkce.go         TestVerifier
//	          4.14.2  refresh tokens rotate             refresh.go      TestRefreshReuse, TestRefreshInParallel, cmd TestParallelRefreshes
//
//	OpenID Connect Core
//	          2, 3.1.3.6  id tokens, at_hash            token.go        TestClaims, TestAtHash, TestCodeGrant, cmd TestRelyingParty
//	          3.1.2.1 GET and POST; prompt, max_age     authorize.go    TestParseAuthorization, TestNext, cmd TestConformance
//	          3.1.2.3 login again when asked for        authorize.go    TestNext, cmd TestConformance
//	          3.1.2.4 consent before anything is told   authorize.go    TestNext, TestAuthorizeAnswers, TestAdminIsNeverGivenUnasked
//	          3.1.2.6 login_required, consent_required  authorize.go    TestNext
//	          3.1.3.2 the token request                 code.go         TestCodeIsBound
//	          5.3, 5.4 userinfo, by scope               userinfo.go     oidc/provider.txt, cmd TestConformance
//	          6       request objects: not supported    authorize.go    TestParseAuthorization, cmd TestConformance
//	          10.1.1  keys rotate                       rotate.go       TestKeyRotation, TestKeyOutlivesTokensOfTheCommandLine
//	          11      offline_access                    code.go         TestRefreshTokenIsGivenByRegistrationOrScope
//	          12.2    refreshed id tokens               refresh.go      TestRefreshTokenIsGivenByRegistrationOrScope
//	          15.1    RS256                             token.go        TestIDTokenAlgorithmIsTheClients
//	OpenID Connect Discovery  3, 4                      discovery.go    cmd TestConformance, cmd TestReverseProxy
//	RP-Initiated Logout  2, 3                           logout.go       TestRPLogout, cmd TestConformance
//	Form Post Response Mode  2                          handlers        cmd TestBrowser
//
// # Deviations
//
//   - RFC 6749 section 4.3: the password grant is offered, though RFC 9700 section 2.4 says it must not be: the specification
//     asks for it. It has an endpoint of its own, /auth/login, and is not taken at the token endpoint.
//   - RFC 6749 section 5.2 knows no 429 and 503 at the token endpoint: throttled and busy requests get rate_limited
//     and temporarily_unavailable with Retry-After.
//   - RFC 9700 section 4.14.2: a used refresh token is no replay within the grace (10 s) while its successor is
//     unused. refresh_grace = 0 is strict.
//   - OpenID Connect Core section 3.1.2.1: request objects are refused by request_not_supported, as discovery says.
//     Section 5.5.1: a value asked for of name or email is no condition: the claim has the value that there is.
//   - OpenID Connect Core section 11: a refresh token is given without offline_access to clients registered for the refresh
//     grant. It ends when the user signs out of the browser in which it was given; with offline_access it doesn't.
//   - RFC 7009 section 2: revoking an access token ends the whole sign-in, its refresh token included. So an access
//     token needs no list of its own.
//   - RFC 7636: a client for which an operator has switched require_pkce off may leave the challenge out. That is for
//     confidential clients only.
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
// 2026-11-21 Another address of an account wants the present password, and counts only from when the button behind the link
// that was mailed to it is used, by the user who asked and is signed in: what is typed in proves nothing, and who presses the
// button without having asked must not verify an address for somebody else's account. The old address hears of the wish and
// of the change. A new password ends the wish; sessions stay. Whether the wanted address has an account is told to its owner
// alone.
//
// 2026-11-21 A suspended tenant's clients get no tokens (unauthorized_client), what they have is refused, not revoked, and a
// role in it gives no rights: when the suspension ends, all is as before. They may revoke, and their users sign out. Users
// belong to no tenant, so they sign in elsewhere as ever.
//
// 2026-11-21 An authorization request is judged anew at each step, from its parameters; no row and no session holds it. That
// the user signed in for this very request (prompt=login, max_age) is a hash of the request in the session. Rejected: a
// table of pending requests, which strangers could fill.
//
// 2026-11-21 A browser in which somebody is signed in is a row; the session holds its id. So it can be listed and ended, a
// password change ends it by the epoch, and a logout finds the families that began in it.
//
// 2026-11-21 A code that is presented with a wrong verifier or redirect_uri stays good: whoever lacks the verifier can't use
// it, and must not be able to spoil it either. One that comes twice ends what it became, unless another client sends it.
//
// 2026-11-21 The next signing key is published a day before it signs, and the last one until every token that it can have
// signed has expired, those of the command line included. The id_token_hint of a key that has left is told as not ours.
//
// 2026-11-21 While passwords are hashed the garbage collector is told to be thrifty (40 %): each hash leaves 19 MiB behind.
// Rejected: a memory limit for the process, which makes a large but healthy heap crawl.
//
// 2026-11-21 Registering for an address that exists writes, hashes and queries as much as for a new one. The mail that an
// unverified owner gets leads to a page that asks for a new password (purpose claim), so that whoever registered the
// address first keeps no password to it; docs/decisions/0002 says what else strangers' registrations don't reach.
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
