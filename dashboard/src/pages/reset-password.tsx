import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../api.ts'
import { PasswordField } from '../ui/password-field.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** It stands behind #, which no browser sends to a server, so it is in nobody's log. */
function tokenOfLink(): string {
  return globalThis.location.hash.slice(1)
}

export function ResetPasswordPage() {
  const [done, setDone] = useState(false)
  const form = useForm({ initialValues: { password: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async ({ password }) => {
    await call('POST /v1/auth/password/reset', { body: { token: tokenOfLink(), password } })
    setDone(true)
  })
  return (
    <SignedOutPage title="New password">
      {done ? (
        <Text role="status">
          The password is set, and every session has ended.{' '}
          <Anchor component={Link} href="/login" inherit underline="always">
            Sign in
          </Anchor>
        </Text>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Stack>
            <ProblemAlert error={fault} />
            <PasswordField chosen {...form.getInputProps('password')} />
            <Button type="submit" loading={busy}>
              Set the password
            </Button>
          </Stack>
        </form>
      )}
    </SignedOutPage>
  )
}
