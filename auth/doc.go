// Package auth authenticates callers with passwords, tokens, signing keys and signatures. It is the OAuth 2.0 and
// OpenID Connect provider. It doesn't use HTTP types: handlers pass it values and write its results.
//
// # Parts
//
//	provider.go     Provider and its Config; the generation that makes cached callers stale
//	lifetimes.go    lifetimes of tokens, sessions and keys
//	grant.go        the grants at the token endpoint; passwords are checked and throttled
//	refresh.go      the refresh grant: rotation, grace, replay
//	authrequest.go claims_request.go pkce.go hint.go   the authorization request: parsing and checks
//	authorize.go code.go   the next step in the request, or its response; the authorization code and its grant
//	signin.go prove.go logout.go                             browser sign-in, reauthentication, sign-out
//	secondfactor.go totp.go passkey.go                       authenticator apps, recovery codes, passkeys
//	introspect.go userinfo.go discovery.go                   requests from relying parties and resource servers
//	client_auth.go clients.go   client authentication: none, Basic, post; the client cache
//	origin.go       sites whose scripts may call the endpoints for relying parties
//	scope.go        granted scopes: those requested, limited to the client's and to what roles allow
//	token.go claims.go   access and id tokens: claims, signing, verifying
//	bearer.go       from an access token to core.Caller; the cache of verified tokens
//	keys.go jwks.go rotate.go   signing keys, the key set, their rotation
//	password.go common_passwords.go   argon2id, one hash per core; rules; the most common passwords
//	account.go email_change.go   register, verify, forgot, reset, claim, change of address, log out; mailed tokens
//	login_limiter.go   failed logins by remote address, in bounded memory
//	invitations.go setup.go   invitations to a role; the setup link for the first server administrator
//	senderdomain.go   the TXT record that proves a sender domain
//	signature.go    webhooks signed and verified (timestamp, nonce, body)
//	seal.go unsubscribe.go view.go   stateless tokens
//	errors.go       the error codes of RFC 6749
//
// # How a request becomes a caller
//
//	password grant ─┐                        ┌─ access token ── Bearer ── core.Caller, reread in each generation
//	code grant ─────┼─ core.Family ─── issue ┼─ id token
//	OwnToken ───────┘  (one sign-in)         └─ refresh token ── refresh grant ── issue
//	client grant ── issue ── access token, for which nothing is stored unless it is revoked
//
// # Invariants
//
//   - A token is never valid longer than its family. Anything that ends the family (a logout, a new password, a
//     replayed code or refresh token) ends all its tokens.
//   - The token of a client that acts for itself ends when it is revoked, and when the client is disabled or deleted.
//   - A caller has the token's scopes, limited to what its roles and its client currently allow.
//   - The database holds hashes of tokens and sealed values. Private signing keys are sealed, too. A person who reads
//     the database can neither redeem nor sign a token.
//   - A redirect goes only to a URI that is registered for the client.
//
// docs/decisions contains the decisions, 0240 to 0250 and 0002 to 0004.
//
// # Sections of the specifications
//
// This table lists the requirements by section, with the tests that cover them. Tests without a prefix are in this
// package. "cmd" and "handlers" stand for the tests of those packages, and a path for a scenario in testdata/api.
// TestDocNamesTests checks that each of them exists.
//
//	RFC 6749  2.3.1   Basic and post, not both          client_auth.go  TestBasicAuth, TestRefreshIsBoundToItsClient
//	          3.1     parameters once, others ignored   authrequest.go  TestParseAuthorization
//	          3.1.2   redirect URI absolute, registered authrequest.go  TestParseAuthorization, FuzzParseAuthorization
//	          3.1.2.4 never redirect to one that isn't  authrequest.go  TestParseAuthorization,
//	                                                                    oidc/authorize-errors.txt
//	          3.3     scope; in response if it differs  scope.go        TestGrantScopes, TestValidScopeText
//	          4.1.2   code short-lived, used once       code.go         TestCodeReuseRevokes,
//	                                                                    TestCodeInParallelIsGoodOnce
//	          4.1.2.1 errors and state back             authorize.go    TestAuthorizeAnswers, oidc/authorize-errors.txt
//	          4.1.3   code bound to client and URI      code.go         TestCodeIsBound
//	          4.3     password                          grant.go        TestPasswordGrant, TestPasswordGrantRefusals
//	          4.4     client_credentials                grant.go        TestCallerOfClientIsHeldToItsTenant,
//	                                                                    TestTokensOfADisabledClient
//	          5.1     responses not cached              token.go        handlers TestTokenAnswersAreNotKept,
//	                                                                    cmd TestParallelRefreshes
//	          5.2     errors                            errors.go       auth/login.txt, oidc/flow.txt
//	          6       refresh bound to its client       refresh.go      TestRefreshRotates, TestRefreshScopes,
//	                                                                    TestRefreshIsBoundToItsClient
//	          10.10   tokens can't be guessed           core/token.go   256 random bits
//	          10.12   cross-site requests               handlers        oidc/pages.txt
//	          10.13   no framing                        handlers        handlers TestPageHeaders
//	          10.15   no open redirect                  authrequest.go  TestParseAuthorization,
//	                                                                    handlers TestLoginLeadsNowhereElse
//	RFC 6750  2       header, or form, not both         handlers        oidc/provider.txt
//	          3, 3.1  challenges                        handlers        cmd TestForgedTokens, TestForgedAccessTokens
//	RFC 7009  2.1     own client's tokens only          introspect.go   TestRevokeAndIntrospect,
//	                                                                    TestRevokedTokenOfAClient
//	          2.2     unknown tokens are no error       introspect.go   TestRevokeAndIntrospect
//	RFC 7515  4.1.11  crit                              token.go        TestCriticalHeader;  A.3: TestJWSVector
//	RFC 7517  4, 5    the key set                       jwks.go         TestPublicKeyVectors, TestKeySetVerifiesTokens
//	RFC 7636  4.1-4.3 verifier and challenge            pkce.go         TestVerifier, TestParseAuthorization
//	          4.4.1   challenge missing: invalid_request authrequest.go TestParseAuthorization
//	          4.6     compared at the token endpoint    pkce.go         TestVerifier, TestCodeIsBound
//	RFC 7638  3       thumbprints as kid                keys.go         TestPublicKeyVectors
//	RFC 7662  2.1     callers authenticate              introspect.go   TestRevokeAndIntrospect
//	          2.2     active, and no more where false   introspect.go   TestRevokeAndIntrospect,
//	                                                                    TestIntrospectionStaysWithinTheTenant
//	RFC 8252  7.3     any port on loopback              authrequest.go  TestParseAuthorization,
//	                                                                    TestRegisteredLoopbackPortIsForPublicClients
//	RFC 8414  2, 3    metadata, and where               discovery.go    TestDiscoveryNamesOnlyTheIssuer,
//	                                                                    oidc/provider.txt
//	RFC 8725  3.1     algorithm pinned to a key         token.go        TestForgedAccessTokens
//	          3.2     deterministic ECDSA               keys.go         TestSign
//	          3.8, 3.9, 3.11  issuer, audience, typ     token.go        TestForgedAccessTokens, TestClaims
//	RFC 9068  2, 4    access tokens as JWT              claims.go       TestClaims, TestForgedAccessTokens
//	RFC 9106          argon2id                          password.go     TestArgon2Vector
//	RFC 9207  2       iss in every response             authorize.go    TestCodeGrant, TestAuthorizeAnswers
//	RFC 9700  2.1     exact redirect URIs               authrequest.go  TestParseAuthorization
//	          2.1.1   PKCE, S256                        authrequest.go  TestParseAuthorization, TestCodeIsBound
//	          4.8.2   no verifier without a challenge   pkce.go         TestVerifier
//	          4.14.2  refresh tokens rotate             refresh.go      TestRefreshReuse, TestRefreshInParallel,
//	                                                                    cmd TestParallelRefreshes
//
//	OpenID Connect Core
//	          2, 3.1.3.6  id tokens, at_hash            token.go        TestClaims, TestAtHash, TestCodeGrant,
//	                                                                    cmd TestRelyingParty
//	          3.1.2.1 GET and POST; prompt, max_age     authrequest.go  TestParseAuthorization, TestNext,
//	                                                                    cmd TestConformance
//	          3.1.2.3 login again when asked for        authorize.go    TestNext, cmd TestConformance
//	          3.1.2.4 consent before any claim is given authorize.go    TestNext, TestAuthorizeAnswers,
//	                                                                    TestAdminIsNeverGivenUnasked
//	          3.1.2.6 login_required, consent_required  authorize.go    TestNext
//	          3.1.3.2 the token request                 code.go         TestCodeIsBound
//	          5.3, 5.4 userinfo, by scope               userinfo.go     oidc/provider.txt, cmd TestConformance
//	          6       request objects: not supported    authrequest.go  TestParseAuthorization, cmd TestConformance
//	          10.1.1  keys rotate                       rotate.go       TestKeyRotation,
//	                                                                    TestKeyOutlivesTokensOfTheCommandLine
//	          11      offline_access                    code.go         TestRefreshTokenIsGivenByRegistrationOrScope
//	          12.2    refreshed id tokens               refresh.go      TestRefreshTokenIsGivenByRegistrationOrScope
//	          15.1    RS256                             token.go        TestIDTokenAlgorithmIsTheClients
//	OpenID Connect Discovery  3, 4                      discovery.go    cmd TestConformance, cmd TestReverseProxy
//	RP-Initiated Logout  2, 3                           logout.go       TestRPLogout, cmd TestConformance
//	Form Post Response Mode  2                          handlers        cmd TestBrowser
//
// # Deviations
//
//   - RFC 6749 section 4.3: the password grant is offered, although RFC 9700 section 2.4 forbids it, because
//     first-party clients log in with it. It has a separate endpoint, /auth/login, and the token endpoint refuses it.
//   - RFC 6749 section 5.2 doesn't define 429 and 503 for the token endpoint. Throttled and busy requests get
//     rate_limited and temporarily_unavailable with Retry-After.
//   - RFC 9700 section 4.14.2: within the grace (10 s), a used refresh token doesn't count as a replay while its
//     successor is unused. refresh_grace = 0 is strict.
//   - OpenID Connect Core section 3.1.2.1: request objects are refused with request_not_supported, as discovery
//     declares. Section 5.5.1: a requested value of name or email is not a condition; the claim has the user's value.
//   - OpenID Connect Core section 11: clients registered for the refresh grant get a refresh token without
//     offline_access. It ends when the user signs out of the browser it was issued in. With offline_access, it doesn't.
//   - RFC 7009 section 2: revoking an access token ends the whole sign-in, including its refresh token. Thus no list of
//     users' revoked access tokens is needed.
//   - RFC 7636: a client may omit the challenge if a server administrator has disabled its require_pkce. Only
//     confidential clients can have this setting.
//   - An Authorization header with a scheme other than Basic doesn't count as client authentication, because browser
//     libraries send a stale bearer token along with a refresh.
package auth
