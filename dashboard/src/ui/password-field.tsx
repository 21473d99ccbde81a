import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { useId } from 'react'

interface Props extends PasswordInputProps {
  /** A password that is being chosen, rather than one that is there already. */
  chosen?: boolean
}

/** A password, which can be shown. Its fault and its description belong to it for screen readers too. */
export function PasswordField({ chosen = false, label = 'Password', error, ...rest }: Props) {
  const id = useId()
  const ids = [chosen ? `${id}-description` : '', error ? `${id}-error` : ''].filter((name) => name !== '')
  return (
    <PasswordInput
      label={label}
      required
      autoComplete={chosen ? 'new-password' : 'current-password'}
      {...(chosen ? { description: 'At least 15 characters; a few words make a good one.' } : {})}
      descriptionProps={{ id: `${id}-description` }}
      errorProps={{ id: `${id}-error` }}
      error={error}
      aria-invalid={error ? true : undefined}
      aria-describedby={ids.length === 0 ? undefined : ids.join(' ')}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
      {...rest}
    />
  )
}
