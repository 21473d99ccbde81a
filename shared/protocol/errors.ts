import { ITEM_FAULTS, type ItemFault } from './heartbeat.ts'

/** How a fault looks from outside. */
export interface ErrorEntry {
  /** HTTP status. */
  readonly status: number
  /** May the same request succeed later, unchanged? */
  readonly temporary: boolean
  /** Public title; safe to show. */
  readonly title: string
}

function permanent(status: number, title: string): ErrorEntry {
  return { status, temporary: false, title }
}

function temporary(status: number, title: string): ErrorEntry {
  return { status, temporary: true, title }
}

/** Every problem code that the API or the gateway answers with. Codes are stable; titles may change. */
export const ERRORS = {
  bad_request: permanent(400, 'The request is malformed'),
  malformed_json: permanent(400, 'The body is not JSON'),
  invalid_cursor: permanent(400, 'The cursor is not one of ours'),
  sso_state_invalid: permanent(400, 'This sign-in was used already, took too long or began in another browser'),
  unsupported_subprotocol: permanent(400, 'None of the offered subprotocols is spoken here'),
  unauthorized: permanent(401, 'A valid credential is needed'),
  invalid_credentials: permanent(401, 'E-mail or password is wrong'),
  forbidden: permanent(403, 'You may not do this'),
  insufficient_scope: permanent(403, 'The key lacks the scope for this'),
  reauthentication_required: permanent(403, 'Sign in again to do this'),
  cross_site: permanent(403, 'The request comes from another site'),
  invitation_of_another: permanent(403, 'The invitation is for another e-mail address'),
  organization_suspended: permanent(403, 'The organization is suspended'),
  sso_denied: permanent(403, 'The identity provider did not let you in'),
  sso_failed: permanent(403, 'The answer of the identity provider could not be verified'),
  sso_wrong_tenant: permanent(403, 'This identity is of another tenant than the organization is bound to'),
  sso_personal_account: permanent(403, 'Personal accounts cannot be used to sign in'),
  sso_not_connected: permanent(403, 'No organization lets this identity in'),
  sso_email_unverified: permanent(403, 'The identity provider does not vouch for a fitting e-mail address'),
  sso_required: permanent(403, 'The organization asks for single sign-on'),
  not_found: permanent(404, 'There is nothing here'),
  invitation_invalid: permanent(404, 'The invitation is used, revoked or too old'),
  method_not_allowed: permanent(405, 'This address has no such method'),
  sso_identity_taken: permanent(409, 'The identity is linked to another account'),
  sso_connection_exists: permanent(409, 'The organization is bound to this tenant already'),
  sso_domain_unproven: permanent(409, 'The DNS record that proves the domain was not found'),
  sso_not_ready: permanent(409, 'Single sign-on is not ready to be required'),
  last_way_in: permanent(409, 'This is the last way to sign in'),
  mail_not_configured: permanent(409, 'This installation sends no mail'),
  email_in_use: permanent(409, 'The e-mail address already has an account'),
  already_member: permanent(409, 'The person is a member already'),
  last_owner: permanent(409, 'An organization needs an owner'),
  sign_in_first: permanent(409, 'The account has to be signed in'),
  limit_reached: permanent(409, 'A limit is reached'),
  payload_too_large: permanent(413, 'The body is too large'),
  unsupported_media_type: permanent(415, 'The body must be application/json'),
  expectation_failed: permanent(417, 'The expectation cannot be met'),
  validation_failed: permanent(422, 'Some fields are not right'),
  heartbeats_rejected: permanent(422, 'No heartbeat was accepted'),
  password_too_short: permanent(422, 'The password is too short'),
  password_too_common: permanent(422, 'The password is too common'),
  reset_invalid: permanent(422, 'The link is used, replaced or too old'),
  cyclic_dependency: permanent(422, 'A monitor cannot depend on itself'),
  upgrade_required: permanent(426, 'A WebSocket of version 13 is needed'),
  rate_limited: temporary(429, 'Too many requests'),
  too_many_connections: temporary(429, 'Too many sockets with this identity'),
  request_timeout: temporary(408, 'The request took too long to arrive'),
  header_fields_too_large: permanent(431, 'The request headers are too large'),
  internal_error: temporary(500, 'Something went wrong here'),
  overloaded: temporary(503, 'Nothing durable could be written'),
  not_ready: temporary(503, 'The service is not ready'),
  sso_unavailable: temporary(503, 'The identity provider cannot be reached')
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

/** Codes that may stand in `errors[]` of a problem: a field's fault, or a heartbeat's. */
export type FieldCode = ItemFault | 'invalid_value' | 'too_short' | 'too_long' | ErrorCode
export const FIELD_TITLES: Record<string, string> = ITEM_FAULTS
