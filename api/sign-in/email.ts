/** One mailbox, one account: case and compatible forms do not make another (NFKC). */
export function normalizeEmail(email: string): string {
  return email.trim().normalize('NFKC').toLowerCase()
}
