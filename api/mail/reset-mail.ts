import type { MailMessage } from './mail.ts'

const NOT_YOU = 'If it was not you, there is nothing to do: without this mail nothing changes.'

/** `url` holds the token. */
export function resetMail(to: string, url: string): MailMessage {
  return {
    to,
    subject: 'Set a new password for Pulsegate',
    text: [
      'Somebody asked for a new password for your account at Pulsegate. To set one, open this link within an hour:',
      '',
      url,
      '',
      `It works once, and signs you out everywhere. ${NOT_YOU}`
    ].join('\n')
  }
}

/** For an account that has no password and is not to get one by mail. */
export function ssoOnlyMail(to: string, appUrl: string): MailMessage {
  return {
    to,
    subject: 'Your account at Pulsegate has no password',
    text: [
      'Somebody asked for a new password for your account at Pulsegate. It has none: sign in with Microsoft or Google at',
      '',
      appUrl,
      '',
      NOT_YOU
    ].join('\n')
  }
}
