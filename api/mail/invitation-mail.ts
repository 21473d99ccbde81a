import type { UserRole } from '../../shared/contract/permissions.ts'
import type { MailMessage } from './mail.ts'

interface Invitation {
  to: string
  inviterName: string
  organizationName: string
  role: UserRole
  url: string
  expiresAt: Date
}

/** Names come from people: a line break in one must not look like a part of our letter. */
function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
}

/** The letter that invites a person. */
export function invitationMail({ to, inviterName, organizationName, role, url, expiresAt }: Invitation): MailMessage {
  const organization = oneLine(organizationName)
  const text = `${oneLine(inviterName)} invites you to join ${organization} on Pulsegate as ${role}.

Open this link to accept:

${url}

It is good until ${expiresAt.toUTCString()}. If you did not expect this, do nothing: nobody joins without opening the link.
`
  return { to, subject: `Join ${organization} on Pulsegate`, text }
}
