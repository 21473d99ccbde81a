import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../api.ts'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

export function ForgotPasswordPage() {
  const [sent, setSent] = useState(false)
  const form = useForm({ initialValues: { email: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('POST /v1/auth/password/forgot', { body })
    setSent(true)
  })
  return (
    <SignedOutPage title="Forgotten password">
      {sent ? (
        <Text role="status">
          If there is an account with that address, a mail with a link is on its way. The link is good for an hour. No
          mail? Whoever runs this installation can set a new password for you.
        </Text>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Stack>
            <ProblemAlert error={fault} />
            <TextInput label="E-mail" type="email" required autoComplete="username" {...form.getInputProps('email')} />
            <Button type="submit" loading={busy}>
              Send me a link
            </Button>
          </Stack>
        </form>
      )}
      <Anchor component={Link} href="/login" size="sm" ta="center">
        Back to signing in
      </Anchor>
    </SignedOutPage>
  )
}
