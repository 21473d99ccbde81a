import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link, useLocation } from 'wouter'
import { call } from '../api.ts'
import { useFreshSession } from '../session.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

export function SignupPage() {
  const [, navigate] = useLocation()
  const refresh = useFreshSession()
  const form = useForm({ initialValues: { organizationName: '', name: '', email: '', password: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('POST /v1/auth/signup', { body })
    await refresh()
    navigate('/welcome')
  })
  return (
    <SignedOutPage title="Sign up" lead="Your organization, and you as its owner.">
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <ProblemAlert error={fault} />
          <TextInput
            label="Organization"
            required
            autoComplete="organization"
            {...form.getInputProps('organizationName')}
          />
          <TextInput label="Your name" required autoComplete="name" {...form.getInputProps('name')} />
          <TextInput label="E-mail" type="email" required autoComplete="username" {...form.getInputProps('email')} />
          <PasswordField chosen {...form.getInputProps('password')} />
          <Button type="submit" loading={busy} fullWidth>
            Sign up
          </Button>
          <Text size="sm" ta="center">
            Have an account?{' '}
            <Anchor component={Link} href="/login" inherit underline="always">
              Sign in
            </Anchor>
          </Text>
        </Stack>
      </form>
    </SignedOutPage>
  )
}
