"""Operations and serializers of repository webhooks and their deliveries."""
