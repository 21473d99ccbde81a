import type { MailMessage } from './mail.ts'

/** To the new address; `url` holds the token. */
export function confirmEmailMail(to: string, url: string): MailMessage {
  return {
    to,
    subject: 'Confirm your e-mail address for Pulsegate',
    text: [
      'Somebody wants to sign in to Pulsegate with this address from now on. If it was you, open this link within an hour:',
      '',
      url,
      '',
      'It works once. If it was not you, there is nothing to do: without this mail nothing changes.'
    ].join('\n')
  }
}

/** To the old address, while there is still something that can be done. */
export function emailChangeAskedMail(to: string, wanted: string, appUrl: string): MailMessage {
  return {
    to,
    subject: 'Your e-mail address at Pulsegate is about to change',
    text: [
      `Somebody who is signed in to your account at Pulsegate wants to change its address to ${wanted}.`,
      '',
      'If it was not you, set a new password now, which stops it and signs everybody else out:',
      '',
      `${appUrl}/forgot-password`
    ].join('\n')
  }
}

/** To the old address. */
export function emailChangedMail(to: string, now: string): MailMessage {
  return {
    to,
    subject: 'Your e-mail address at Pulsegate has changed',
    text: [
      `Your account at Pulsegate has the address ${now} now; this one leads to it no more.`,
      '',
      'If it was not you, ask an owner of your organization, or who runs this Pulsegate, for help.'
    ].join('\n')
  }
}
