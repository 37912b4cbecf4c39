package login

// serverMetadata is the metadata of an authorization server (RFC 8414), as far as a login uses it.
type serverMetadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	Scopes                []string `json:"scopes_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
	NamesItself           bool     `json:"authorization_response_iss_parameter_supported"`
}

// resourceMetadata is the metadata of a server that requires a login (RFC 9728), as far as a login uses it.
type resourceMetadata struct {
	Resource     string   `json:"resource"`
	Issuers      []string `json:"authorization_servers"`
	Scopes       []string `json:"scopes_supported"`
	RequiresDPoP bool     `json:"dpop_bound_access_tokens_required"`
}
