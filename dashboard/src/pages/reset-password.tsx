import { Anchor, Button, PasswordInput, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { call } from '../api.ts'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

export function ResetPasswordPage() {
  const [search] = useSearchParams()
  const [done, setDone] = useState(false)
  const form = useForm({ initialValues: { password: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async ({ password }) => {
    await call('POST /v1/auth/password/reset', { body: { token: search.get('token') ?? '', password } })
    setDone(true)
  })
  return (
    <SignedOutPage title="New password">
      {done ? (
        <Text role="status">
          The password is set, and every session has ended.{' '}
          <Anchor component={Link} href="/login" inherit>
            Sign in
          </Anchor>
        </Text>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Stack>
            <ProblemAlert error={fault} />
            <PasswordInput
              label="Password"
              description="At least 15 characters; a few words make a good one."
              required
              autoComplete="new-password"
              visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
              {...form.getInputProps('password')}
            />
            <Button type="submit" loading={busy}>
              Set the password
            </Button>
          </Stack>
        </form>
      )}
    </SignedOutPage>
  )
}
